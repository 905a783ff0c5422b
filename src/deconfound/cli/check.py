"""`deconfound check`: test the assumptions on the three tables."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING

from deconfound.cli.options import (
    EXIT_CODES,
    Commands,
    add_output_options,
    add_table_options,
    add_target_option,
    load_study,
    parse_column_map,
)
from deconfound.cli.progress_line import showing_progress
from deconfound.cli.terminal import write_result
from deconfound.errors import AssumptionError, EvidenceError

if TYPE_CHECKING:
    from deconfound.data import Study
    from deconfound.findings import Finding


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser(
        "check",
        help="test the assumptions on the three tables",
        description="Tests every assumption behind the values. Each check ends as pass, warn, fail or cannot tell.",
        epilog=EXIT_CODES,
    )
    add_table_options(parser)
    add_target_option(parser)
    parser.add_argument("--level", type=float, default=0.95, help="of the tests (default 0.95: warn at p < 0.05)")
    parser.add_argument("--seed", type=int, default=0, help="of permutations and samples (default 0)")
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; the exit code reports failed and untestable assumptions."""
    from deconfound.diagnose import check
    from deconfound.loading import load_contexts
    from deconfound.report.check_text import any_conclusive, any_failed, check_document, check_text
    from deconfound.report.json_text import dump_json
    from deconfound.report.scale import Scale

    columns = parse_column_map(arguments.map)
    normalize = arguments.normalize_contexts
    target = (
        None
        if arguments.target is None
        else load_contexts(arguments.target, columns=columns, normalize_contexts=normalize)
    )
    study = load_study(arguments)
    with showing_progress(arguments) as progress:
        checked = check(study, seed=arguments.seed, level=arguments.level, target=target, progress=progress)
    findings = (*study.findings, *checked, *_too_few_rows(study))
    if arguments.json:
        write_result(dump_json(check_document(findings, arguments.level, arguments.seed, Scale.of(study))))
    else:
        write_result(check_text(findings, arguments.level, Scale.of(study)))
    if any_failed(findings):
        return AssumptionError.exit_code
    return 0 if any_conclusive(findings) else EvidenceError.exit_code


def _too_few_rows(study: Study) -> tuple[Finding, ...]:
    """What `evaluate` would refuse these tables for, if they have next to no randomized rows."""
    from deconfound.evidence import require_rows
    from deconfound.findings import Finding, Notice
    from deconfound.report.check_text import TOO_FEW_ROWS

    counts = Counter(study.experiment.arrow["model"].to_pylist())
    try:
        require_rows([counts[name] for name in study.models], study.experiment.source)
    except EvidenceError as error:
        return (Finding(TOO_FEW_ROWS, "cannot tell", Notice(str(error))),)
    return ()
