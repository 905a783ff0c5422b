"""A folder with contexts and outputs -> a full grid, or all that keeps it from being one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from deconfound.errors import DataError, Problem
from deconfound.formatting import join_names, pluralize
from deconfound.loading.files import file_error
from deconfound_bench.grid.cells import Cells, arrange
from deconfound_bench.grid.components import Wanted
from deconfound_bench.grid.grid import Grid, signed
from deconfound_bench.grid.tables import Contexts, Outputs, read_contexts, read_outputs, read_table


def read_grid(
    directory: Path, needed: Sequence[str] = (), within: Mapping[str, tuple[float, float]] | None = None
) -> Grid:
    """Read a grid of which every (context, model) cell must be there once.

    The folder holds ``contexts`` (context_id, context, extras) and ``outputs`` (context_id, model, output,
    components), each as .parquet, .csv or .jsonl. Components named in ``needed`` must be finite everywhere;
    ``within`` gives such components a range, ends included. An output may be empty: a model may give up.
    """
    directory = Path(directory)
    wanted = Wanted(tuple(needed), dict(within or {}))
    if not directory.is_dir():
        what = "this is a file, not a folder" if directory.exists() else "there is no such folder"
        raise file_error(directory.name, what, "Name the folder that holds contexts.parquet and outputs.parquet.")
    problems: list[Problem] = []
    tables = [read_table(directory, role, problems) for role in ("contexts", "outputs")]
    contexts = read_contexts(tables[0], problems) if tables[0] else None
    outputs = read_outputs(tables[1], wanted, problems) if tables[1] else None
    cells = arrange(contexts, outputs, problems) if contexts and outputs else None
    if problems or not (contexts and outputs and cells):
        raise DataError(problems)
    return _built(directory.resolve().name, contexts, outputs, cells)


def _built(name: str, contexts: Contexts, outputs: Outputs, cells: Cells) -> Grid:
    place = {context_id: row for row, context_id in enumerate(contexts.ids)}
    order = [place[context_id] for context_id in cells.context_ids]
    texts = tuple(contexts.texts[row] for row in order)
    written = tuple(tuple(outputs.texts[row] for row in line) for line in cells.row.tolist())
    unrun = sorted(set(contexts.ids) - set(cells.context_ids))
    left_out = [f"left out {pluralize(len(unrun), 'context')} without any output: {join_names(unrun)}"] if unrun else []
    grid = Grid(
        name=name,
        context_ids=cells.context_ids,
        contexts=texts,
        models=cells.models,
        outputs=written,
        components={name: values[cells.row] for name, values in outputs.components.items()},
        extras={name: tuple(values[row] for row in order) for name, values in contexts.extras.items()},
        digest="",
        dropped=(*left_out, *contexts.dropped, *outputs.dropped),
        notes=(*_empty_outputs(cells.models, written), *_repeated_contexts(texts)),
    )
    return signed(grid)


def _empty_outputs(models: Sequence[str], outputs: Sequence[Sequence[str]]) -> list[str]:
    silent = Counter(model for line in outputs for model, text in zip(models, line, strict=True) if not text.strip())
    if not silent:
        return []
    model_effect = join_names(f"{model}: {silent[model]}" for model in models if silent[model])
    return [f"{pluralize(silent.total(), 'empty output')} ({model_effect})"]


def _repeated_contexts(texts: Sequence[str]) -> list[str]:
    repeated = len(texts) - len(set(texts))
    if not repeated:
        return []
    return [f"{pluralize(repeated, 'context')} with the text of another one: they may fall on both sides of a split"]
