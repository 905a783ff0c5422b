"""Outputs that were written in use, beside the replay of the same context by the same model."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from deconfound.design import IntArray
from deconfound.diagnose.telling import Sample, Telling
from deconfound.diagnose.thinning import thinned
from deconfound.diagnose.verdicts import shown
from deconfound.features import FeatureBlocks
from deconfound.features.study_arrays import StudyArrays
from deconfound.formatting import format_percent, join_names, pluralize


def beside_replay(
    material: StudyArrays, blocks: FeatureBlocks, context: IntArray, model: IntArray, seed: int
) -> Sample:
    """Rows of a source (the group) and replayed draws, one stratum a cell of context and model.

    If a model writes as it did then, the row's output is one more draw of its cell and may change places with any
    other. ``context`` and ``model`` place every row of the source among the cells; rows outside them are left out.
    """
    cells = material.replay
    placed = np.flatnonzero((context >= 0) & (model >= 0) & (model < cells.n_models))
    own = context[placed] * cells.n_models + model[placed]
    drawn = cells.context * cells.n_models + cells.model
    stratum = np.concatenate([own, drawn])
    group = np.arange(len(stratum)) < len(own)
    kept = thinned(group, stratum, seed)
    rows, draws = kept[group[kept]], kept[~group[kept]] - len(own)
    index = (blocks.row_index[placed[rows]], cells.blocks.row_index[draws])
    text = dense = None
    if blocks.text is not None and cells.blocks.text is not None:
        text = sparse.vstack([blocks.text[index[0]], cells.blocks.text[index[1]]], format="csr")
    if blocks.dense is not None and cells.blocks.dense is not None:
        dense = np.vstack([blocks.dense[index[0]], cells.blocks.dense[index[1]]])
    stratum, group = stratum[kept], group[kept]
    return Sample(text, dense, group, stratum, stratum // cells.n_models, stratum % cells.n_models)


def in_words(telling: Telling, whose: str, models: tuple[str, ...], level: float) -> str:
    """What the comparison saw, in one sentence without its consequence."""
    where = f"{pluralize(telling.strata, 'cell')} of one context and one model"
    right = f"{format_percent(telling.share, 0)} right, guessing is right in 50 %; {shown(telling.p_value)}"
    if telling.p_value >= 1.0 - level:
        return f"In {where}, replayed outputs are not told from {whose} ({right})."
    named = [f"{models[part.code]} ({format_percent(part.share, 0)} right)" for part in telling.suspects(level)]
    by_itself = f" Clear by themselves: {join_names(named)}." if named else ""
    return f"In {where}, replayed outputs are told from {whose} ({right}).{by_itself}"
