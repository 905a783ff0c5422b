"""`deconfound init`: write a study file from the tables, commented and ready to edit."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deconfound.cli.options import EXIT_CODES, Commands, add_assignment_option, report_written
from deconfound.cli.output_path import add_overwrite_option, check_output_file, writing
from deconfound.cli.terminal import write_message
from deconfound.errors import UsageError
from deconfound.escaping import escape_line, quoted_string, readable_path
from deconfound.formatting import join_names, shell_argument

if TYPE_CHECKING:
    from deconfound.loading.table_roles import RoleTable

HEADER = "# A study of deconfound. Every option of `deconfound evaluate --help` may stand here under its long name."
OTHER_OPTIONS = (
    '# where = ["env=prod", "log.time>=2026-05-01"]  # read only these rows',
    '# ignore = ["time"]  # columns that are not to be used',
)
MAX_MODELS_LISTED = 50


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser(
        "init",
        help="write a study file from your tables, ready to edit",
        description="Finds out which table is which and how its columns are called. Then: deconfound check study.toml",
        epilog=EXIT_CODES,
    )
    parser.add_argument(
        "tables",
        nargs="+",
        metavar="TABLE",
        help="log, experiment and replay (files or folders), or one folder with all of them",
    )
    add_assignment_option(parser)
    parser.add_argument("-o", "--output", default="study.toml", metavar="FILE", help="default study.toml")
    add_overwrite_option(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the file and name the next command."""
    from deconfound.assignment import AssignmentManifest
    from deconfound.atomic import write_text
    from deconfound.loading.table_files import find_files
    from deconfound.loading.table_roles import assign_roles, require_tables

    paths = require_tables(arguments.tables)
    manifest = None if arguments.assignment is None else Path(arguments.assignment)
    _require_utf8_names(paths if manifest is None else [*paths, manifest])
    if manifest is not None:
        AssignmentManifest.load(manifest)  # refuses any other file
    files = [file for path in paths for file in find_files(path)] + ([] if manifest is None else [manifest])
    output = check_output_file(arguments.output, files, overwrite=arguments.overwrite)
    assigned = assign_roles(paths)
    others = [raw.source for raw in assigned.others]
    text = study_file_text(assigned.tables, output.parent, others, manifest)
    with writing(output, overwrite=arguments.overwrite):
        write_text(output, text)
    report_written(output)
    if others:
        write_message(f"Not used, since there are no columns for model and output: {join_names(others)}.\n")
    write_message(f"Next: edit it if needed, then deconfound check {shell_argument(readable_path(output))}\n")
    return 0


def _require_utf8_names(paths: Sequence[Path]) -> None:
    for path in paths:
        try:
            os.fsdecode(path).encode()
        except UnicodeEncodeError:
            name = readable_path(path)
            raise UsageError(f"{name}: a study file cannot name a file whose name is not UTF-8. Rename it.") from None


def study_file_text(
    tables: Sequence[RoleTable], folder: Path, others: Sequence[str] = (), manifest: Path | None = None
) -> str:
    """The study file; paths are relative to its folder, ``others`` are tables that are not used."""
    lines = [HEADER, ""]
    by_role = {table.role: table for table in tables}
    for role in ("log", "experiment", "replay"):
        lines.append(_table_line(role, by_role.get(role), folder))
    lines.append(_assignment_line(manifest, folder))
    lines += [escape_line(f"# not used: {name}, which has no columns for model and output") for name in others]
    lines += ["", *_model_lines(by_role), *_outcome_lines(by_role)]
    return "\n".join([*lines, *OTHER_OPTIONS, "", *_map_lines(tables)]) + "\n"


def _table_line(role: str, table: RoleTable | None, folder: Path) -> str:
    if table is None:
        return f'# {role} = "FILE"  # missing: no table seems to be the {role}'
    path = os.path.relpath(table.path, folder or ".")
    return f"{role} = {quoted_string(path)}  # {table.raw.arrow.num_rows:,} rows"


def _assignment_line(manifest: Path | None, folder: Path) -> str:
    if manifest is None:
        return '# assignment = "FILE"  # the manifest, if `deconfound assign` drew the models'
    return f"assignment = {quoted_string(os.path.relpath(manifest, folder))}  # who should have got what"


def _model_lines(by_role: dict[str, RoleTable]) -> list[str]:
    source = by_role.get("replay") or next(iter(by_role.values()))
    column = source.mapping.columns.get("model")
    if column is None:
        return []
    names = sorted({str(name) for name in source.raw.arrow[column].unique().to_pylist() if name is not None})
    listed = ", ".join(map(quoted_string, names[:MAX_MODELS_LISTED]))
    return [f"# models = [{listed}]  # compare only these; by default all that were replayed"]


def _outcome_lines(by_role: dict[str, RoleTable]) -> list[str]:
    """The scale of the outcomes, as far as the numbers show it, without those that may stand for missing ones."""
    from deconfound.loading.missing_codes import apart_codes

    values = {value for role in ("log", "experiment") for value in _outcome_values(by_role.get(role))}
    codes = apart_codes(values)
    outcomes = values - set(codes) or {0.0, 1.0}
    low, high = min(outcomes), max(outcomes)
    lines = ['# outcome-unit = "of 5 stars"  # follows values in the summary']
    if codes:
        missing = ",".join(f"{code:g}=missing" for code in codes)
        lines.append(f'# outcome-values = "{missing}"  # if that is what it stands for; otherwise widen outcome-range')
    if low >= 0 and high <= 1:
        return ["# outcome-range = [1, 5]  # the worst and the best outcome, if not 0 and 1", *lines]
    worst = min(low, 0.0) if low < 1 else low
    return [f"outcome-range = [{worst!r}, {high!r}]  # the worst and the best outcome; check the ends", *lines]


def _outcome_values(table: RoleTable | None) -> set[float]:
    """The different outcomes of a table that are finite numbers."""
    import numpy as np

    from deconfound.loading.convert import to_floats

    column = None if table is None else table.mapping.columns.get("outcome")
    if table is None or column is None:
        return set()
    values = np.unique(to_floats(table.raw.column(column), [], ""))
    return {float(value) for value in values if np.isfinite(value)}


def _map_lines(tables: Sequence[RoleTable]) -> list[str]:
    """[map]: columns under other names; those that are recognized as comments, doubtful ones to be decided."""
    lines = ["[map]  # name = your column, for all tables; log.name = your column, for one"]
    for table in tables:
        for name, column in table.mapping.by_alias.items():
            lines.append(escape_line(f"# {table.role}.{name} = {quoted_string(column)}  # recognized"))
        for name in table.mapping.missing:
            columns = join_names(table.raw.arrow.column_names)
            lines.append(escape_line(f'{table.role}.{name} = "COLUMN"  # missing; name one of {columns}'))
        lines += [escape_line(f"# {problem.what}: {problem.fix}") for problem in table.problems]
        if table.mapping.unused:
            lines.append(escape_line(f"# not used in the {table.role}: {join_names(table.mapping.unused)}"))
    return list(dict.fromkeys(lines))
