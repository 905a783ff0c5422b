"""The data of the explorer: values of every context, and texts, compressed so that a large study fits in one page.

The page gets inert JSON. Texts are in blocks of contexts, each a gzip file in Base64, and the page unpacks a block when
one of its contexts is opened. Contexts, which the page searches, are cut to the largest length of ``TEXT_LIMITS`` at
which they fit, and outputs to the largest one that the rest of the budget allows.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Replay
from deconfound.data.encode import encode
from deconfound.data.tables import text_ids
from deconfound.decide.recommendation import Recommendation
from deconfound.design import IntArray
from deconfound.errors import DataError, Problem
from deconfound.escaping import escape_name, escape_prose
from deconfound.formatting import pluralize
from deconfound.report.scale import Scale
from deconfound.result import Result

MAX_PACKED_BYTES = 12_500_000  # of table and blocks, as Base64; with pictures and script the page stays below 15 MB
MAX_TABLE_SHARE = 0.4  # of these bytes for the table with its contexts; what it leaves is for outputs
MAX_CONTEXT_CHARACTERS = 4_000_000  # of all contexts together: the page unpacks them when it opens
TEXT_LIMITS = (8_000, 4_000, 2_000, 1_000, 600, 400, 300, 200, 150, 100, 60, 30, 15, 5, 0)  # characters
BLOCK_CONTEXTS = 50
MAX_SAMPLED_BLOCKS = 8  # packed to estimate how far texts can be compressed
VALUE_UNITS = 1_000_000  # values are whole numbers of millionths
MAX_SAMPLED_CONTEXTS = 400  # the same for contexts
COMPRESSION = 6
CUT = "…"
MAX_SEGMENT_FILTERS = 4  # columns of segments by which contexts can be chosen
EQUAL_MARGINS = 1e-9  # margins that differ by less, in outcomes from 0 to 1, are equal but for rounding


@dataclass(frozen=True, slots=True)
class ExploreData:
    """What the page needs: JSON without any character that ends a script, and how far texts were cut."""

    json: str
    contexts: int
    cut: str  # which texts are not shown whole; empty where all are
    has_texts: bool
    value_name: str
    note: str  # where contexts do not differ


@dataclass(frozen=True, slots=True)
class _Texts:
    """Texts of the replay's contexts and first outputs, for the contexts of a result in their order."""

    context: pa.ChunkedArray  # one per context
    output: pa.ChunkedArray  # one per replay row
    row: IntArray  # (n, k) of the first draw; -1 if a model was not replayed
    draws: IntArray  # (n, k)
    is_named: bool  # whether contexts have ids that are not made from their text

    @property
    def context_limits(self) -> Sequence[int]:
        """Lengths to which contexts may be cut: the first cuts none, unless they have too many characters together."""
        lengths = pc.utf8_length(self.context).to_numpy()
        return [
            limit
            for limit in _useful_limits(int(lengths.max()))
            if np.minimum(lengths, limit).sum() <= MAX_CONTEXT_CHARACTERS
        ]

    def cut_sentence(self, context_limit: int, output_limit: int) -> str:
        """Which texts are longer than the limits; empty where none is."""
        shown = self.output.take(pa.array(self.row[self.row >= 0]))
        kinds = (("context", self.context, context_limit), ("output", shown, output_limit))
        longer = [(name, int(pc.sum(pc.greater(pc.utf8_length(texts), n)).as_py()), n) for name, texts, n in kinds]
        parts = [f"{pluralize(count, name)} after {n:,} characters" for name, count, n in longer if count and n]
        none = [pluralize(count, name) for name, count, n in longer if count and not n]
        sentences = [f"Long texts are cut: {' and '.join(parts)}."] if parts else []
        sentences += [f"{' and '.join(none)} would be too large for the page and are left out."] if none else []
        return " ".join(sentences)


def explore_data(result: Result, replay: Replay | None, max_bytes: int = MAX_PACKED_BYTES) -> ExploreData | None:
    """Values and texts of the contexts with a recommendation; None if there are none."""
    rows = [row for row in result.recommendations if len(row.values) == len(result.models)]
    if not rows:
        return None
    texts = None if replay is None else _texts(replay, [row.context_id for row in rows], result.models)
    table, context_limit = _packed_table(rows, result.models, texts, int(MAX_TABLE_SHARE * max_bytes))
    blocks, cut = list[str](), ""
    if texts is not None:
        blocks, output_limit = _packed_blocks(texts, max_bytes - len(table))
        cut = texts.cut_sentence(context_limit, output_limit)
    content = {
        "models": [escape_name(name) for name in result.models],
        "cost": result.values.cost_or_zero.tolist(),
        "valueName": value_name(result),
        "scale": _scale(Scale.of(result)),
        "units": VALUE_UNITS,
        "table": table,
        "segments": _segments(rows, [one.column for one in result.segments]),
        "blocks": blocks,
        "blockContexts": BLOCK_CONTEXTS,
    }
    return ExploreData(script_json(content), len(rows), cut, texts is not None, value_name(result), _note(rows))


def value_name(result: Result) -> str:
    """What the explorer calls a predicted outcome: with costs, they are subtracted."""
    return "value" if result.values.cost is None else "net value"


def _note(rows: Sequence[Recommendation]) -> str:
    """Why every row of the table is the same, where it is."""
    if len(rows) < 2 or len({row.model for row in rows}) > 1 or np.ptp([row.margin for row in rows]) > EQUAL_MARGINS:
        return ""
    return "All have the same model and margin: the data show no difference between contexts that a choice could use."


def _segments(rows: Sequence[Recommendation], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Of the first columns: their names, those of their segments, and the segment of each context, -1 for none."""
    found = []
    for at, column in enumerate(columns[:MAX_SEGMENT_FILTERS]):
        own = [row.segments[at] if row.segments else "" for row in rows]
        names = sorted({name for name in own if name})
        place = {name: code for code, name in enumerate(names)}
        codes = [place.get(name, -1) for name in own]
        found.append({"column": escape_name(column), "names": [escape_name(name) for name in names], "codes": codes})
    return [each for each in found if len(each["names"]) > 1]


def script_json(content: object) -> str:
    """JSON that is safe inside a script element: plain ASCII, and no character that HTML knows."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _scale(scale: Scale) -> dict[str, Any]:
    return {"low": scale.low, "width": scale.width, "decimals": scale.decimals, "unit": scale.difference_unit}


def _packed_table(
    rows: Sequence[Recommendation], models: tuple[str, ...], texts: _Texts | None, max_bytes: int
) -> tuple[str, int]:
    """The table with contexts at the largest limit at which it fits, or without any, and that limit."""
    if texts is None:
        return _pack(_table(rows, models, None, 0)), 0
    sampled = texts.context.take(pa.array(np.arange(0, len(rows), max(len(rows) // MAX_SAMPLED_CONTEXTS, 1))))
    for limit in texts.context_limits:
        size = len(_pack(_shown(sampled, limit))) * len(rows) / len(sampled)
        if size <= max_bytes or not limit:
            packed = _pack(_table(rows, models, texts, limit))
            if len(packed) <= max_bytes or not limit:
                return packed, limit
    raise AssertionError("a limit of zero is always used")


def _useful_limits(longest: int) -> Sequence[int]:
    """The smallest limit that cuts no text of this length, and all smaller ones."""
    above = [limit for limit in TEXT_LIMITS if limit >= longest]
    return TEXT_LIMITS[max(len(above) - 1, 0) :]


def _table(
    rows: Sequence[Recommendation], models: tuple[str, ...], texts: _Texts | None, context_limit: int
) -> dict[str, Any]:
    """One list per column."""
    code = {name: at for at, name in enumerate(models)}
    values = np.array([row.values for row in rows])
    contexts = [] if texts is None else _shown(texts.context, context_limit)
    ids = [] if texts is not None and not texts.is_named else [escape_name(row.context_id) for row in rows]
    return {
        "ids": ids,
        "texts": contexts,
        "best": [code[row.model] for row in rows],
        "runnerUp": [code[row.runner_up] for row in rows],
        "clear": [int(row.verdict == "clear") for row in rows],
        "values": np.rint(VALUE_UNITS * values).astype(np.int64).ravel().tolist(),
    }


def _texts(replay: Replay, context_ids: list[str], models: tuple[str, ...]) -> _Texts | None:
    """Rows of the replay by context and model; None if the replay has no texts."""
    table = replay.arrow
    if "output" not in table.column_names or "context" not in table.column_names:
        return None
    context, model = (encode(table[name], names)[1] for name, names in (("context_id", context_ids), ("model", models)))
    cell = np.where((context >= 0) & (model >= 0), context * len(models) + model, -1)
    order = np.lexsort((table["draw"].to_numpy(), cell))
    order = order[cell[order] >= 0]
    cells, first, draws = np.unique(cell[order], return_index=True, return_counts=True)
    row, count = np.full((2, len(context_ids) * len(models)), -1, dtype=np.int64)
    row[cells], count[cells] = order[first], draws
    row, count = row.reshape(-1, len(models)), count.reshape(-1, len(models))
    context_row = row.max(axis=1)
    absent = int((context_row < 0).sum())
    if absent:
        what = f"{pluralize(absent, 'context')} of the result {'is' if absent == 1 else 'are'} not in it"
        raise DataError([Problem(replay.source, what, "Give the replay that the result was computed from.")])
    chosen = table["context"].take(pa.array(context_row))
    named = not pc.all(pc.equal(text_ids(chosen), table["context_id"].take(pa.array(context_row)))).as_py()
    return _Texts(chosen, table["output"], row, count, named)


def _shown(texts: pa.ChunkedArray, limit: int) -> list[str]:
    """Cut texts, with an ellipsis; what is invisible or changes the direction of text is written as an escape."""
    short = pc.utf8_slice_codeunits(texts, 0, limit).to_pylist()
    is_cut = pc.greater(pc.utf8_length(texts), limit).to_pylist()
    return [escape_prose(text.replace("\r\n", "\n")) + CUT * cut for text, cut in zip(short, is_cut, strict=True)]


def _packed_blocks(texts: _Texts, max_bytes: int) -> tuple[list[str], int]:
    """The blocks at the largest limit at which they fit, and that limit."""
    starts = range(0, len(texts.row), BLOCK_CONTEXTS)
    sampled = starts[:: max(len(starts) // MAX_SAMPLED_BLOCKS, 1)]
    for limit in _useful_limits(int(pc.max(pc.utf8_length(texts.output)).as_py())):
        size = sum(len(_block(texts, start, limit)) for start in sampled) * len(starts) / len(sampled)
        if size > max_bytes and limit:
            continue
        blocks = [_block(texts, start, limit) for start in starts]
        if sum(map(len, blocks)) <= max_bytes or not limit:
            return blocks, limit
    raise AssertionError("a limit of zero is always used")


def _block(texts: _Texts, start: int, limit: int) -> str:
    """The outputs of some contexts: one list per context with one text per model, and the number of draws."""
    row, draws = texts.row[start : start + BLOCK_CONTEXTS], texts.draws[start : start + BLOCK_CONTEXTS]
    present = row.ravel() >= 0
    outputs = np.full(row.size, None, dtype=object)
    outputs[present] = _shown(texts.output.take(pa.array(row.ravel()[present])), limit)
    return _pack({"outputs": outputs.reshape(row.shape).tolist(), "draws": np.maximum(draws, 0).tolist()})


def _pack(content: object) -> str:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), COMPRESSION, mtime=0)).decode()
