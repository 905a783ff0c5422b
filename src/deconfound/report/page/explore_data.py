"""The data of the explorer: values of every context, and texts, compressed so that a large study fits in one page.

The page gets inert JSON. Texts are in blocks of contexts, each a gzip file in Base64, and the page unpacks a block when
one of its contexts is opened. Texts are cut to the largest length of ``TEXT_LIMITS`` at which all of them fit.
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
from deconfound.escaping import escape_lines, escape_name
from deconfound.report.scale import Scale
from deconfound.result import Result

MAX_TEXT_BYTES = 10_000_000  # of all blocks, as Base64; with pictures and numbers the page stays below 15 MB
TEXT_LIMITS = (8_000, 4_000, 2_000, 1_000, 600, 400, 250, 150, 80, 40)  # characters
BLOCK_CONTEXTS = 50
MAX_SAMPLED_BLOCKS = 8  # packed to estimate how far texts can be compressed
VALUE_UNITS = 1_000_000  # values are whole numbers of millionths
COMPRESSION = 6
CUT = "…"


@dataclass(frozen=True, slots=True)
class ExploreData:
    """What the page needs: JSON without any character that ends a script, and how far texts were cut."""

    json: str
    contexts: int
    text_limit: int | None  # None without texts
    cut_texts: int  # number of texts that are not shown whole


@dataclass(frozen=True, slots=True)
class _Texts:
    """Texts of the replay's contexts and first outputs, for the contexts of a result in their order."""

    context: pa.ChunkedArray  # one per context
    output: pa.ChunkedArray  # one per replay row
    row: IntArray  # (n, k) of the first draw; -1 if a model was not replayed
    draws: IntArray  # (n, k)
    is_named: bool  # whether contexts have ids that are not made from their text


def explore_data(result: Result, replay: Replay | None, max_text_bytes: int = MAX_TEXT_BYTES) -> ExploreData | None:
    """Values and texts of the contexts with a recommendation; None if there are none."""
    rows = [row for row in result.recommendations if len(row.values) == len(result.models)]
    if not rows:
        return None
    texts = None if replay is None else _texts(replay, [row.context_id for row in rows], result.models)
    limit, blocks, cut = _packed_blocks(texts, max_text_bytes)
    content = {
        "models": [escape_name(name) for name in result.models],
        "cost": result.values.cost_or_zero.tolist(),
        "scale": _scale(Scale.of(result)),
        "units": VALUE_UNITS,
        "table": _pack(_table(rows, result.models, texts, limit)),
        "blocks": blocks,
        "blockContexts": BLOCK_CONTEXTS,
    }
    return ExploreData(script_json(content), len(rows), limit, cut)


def script_json(content: object) -> str:
    """JSON that is safe inside a script element: plain ASCII, and no character that HTML knows."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _scale(scale: Scale) -> dict[str, Any]:
    return {"low": scale.low, "width": scale.width, "decimals": scale.decimals, "unit": scale.difference_unit}


def _table(
    rows: Sequence[Recommendation], models: tuple[str, ...], texts: _Texts | None, limit: int | None
) -> dict[str, Any]:
    """One list per column."""
    code = {name: at for at, name in enumerate(models)}
    values = np.array([row.values for row in rows])
    contexts = [] if texts is None or limit is None else _shown(texts.context, limit)
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
    """Rows of the replay by context and model; None if the replay has no texts or lacks a context."""
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
    if (context_row < 0).any():
        return None
    chosen = table["context"].take(pa.array(context_row))
    named = not pc.all(pc.equal(text_ids(chosen), table["context_id"].take(pa.array(context_row)))).as_py()
    return _Texts(chosen, table["output"], row, count, named)


def _shown(texts: pa.ChunkedArray, limit: int) -> list[str]:
    """Cut texts, with an ellipsis; what is invisible or changes the direction of text is written as an escape."""
    short = pc.utf8_slice_codeunits(texts, 0, limit).to_pylist()
    is_cut = pc.greater(pc.utf8_length(texts), limit).to_pylist()
    return [escape_lines(text.replace("\r\n", "\n")) + CUT * cut for text, cut in zip(short, is_cut, strict=True)]


def _packed_blocks(texts: _Texts | None, max_bytes: int) -> tuple[int | None, list[str], int]:
    """The length to which texts are cut, the blocks, and how many texts were cut."""
    if texts is None:
        return None, [], 0
    starts = range(0, len(texts.row), BLOCK_CONTEXTS)
    sampled = starts[:: max(len(starts) // MAX_SAMPLED_BLOCKS, 1)]
    longest = max(int(pc.max(pc.utf8_length(each)).as_py()) for each in (texts.output, texts.context))
    limits = [limit for limit in TEXT_LIMITS if limit < longest]
    whole = next((limit for limit in reversed(TEXT_LIMITS) if limit >= longest), None)
    for limit in [*([whole] if whole else []), *limits]:
        size = sum(len(_block(texts, start, limit)) for start in sampled) * len(starts) / len(sampled)
        if size > max_bytes and limit != TEXT_LIMITS[-1]:
            continue
        blocks = [_block(texts, start, limit) for start in starts]
        if sum(map(len, blocks)) <= max_bytes or limit == TEXT_LIMITS[-1]:
            lengths = pc.utf8_length(texts.output.take(pa.array(texts.row[texts.row >= 0])))
            cut = pc.sum(pc.greater(lengths, limit)).as_py() + pc.sum(pc.greater(pc.utf8_length(texts.context), limit)).as_py()
            return limit, blocks, int(cut)
    raise AssertionError("the shortest limit is always used")


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
