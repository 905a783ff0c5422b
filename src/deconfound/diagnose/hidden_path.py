"""A4: nothing but context and model decides what is written; a system with a memory of its user breaks that."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Study
from deconfound.design import IntArray
from deconfound.diagnose.outputs import beside_replay, in_words
from deconfound.diagnose.telling import FEWEST, Telling, tell_apart
from deconfound.diagnose.verdicts import verdict
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding

CHECK = "hidden path to the output"
WHOSE = "the log's"


def hidden_path(material: StudyArrays, study: Study, seed: int, level: float) -> tuple[Finding, ...]:
    """Whether the log's outputs look like replay of the same context by the same model.

    A difference does not say why: a memory, a personal setting, or another version of the model in the log.
    """
    telling = compare_log(material, study, seed)
    if telling is None:
        return (_untested(material, study),)
    seen = in_words(telling, WHOSE, material.models, level)
    if telling.p_value >= 1.0 - level:
        message = f"{seen} Nothing but context and model seems to decide what is written."
        return (Finding(CHECK, "pass", message, number=telling.advantage(level), assumption="A4"),)
    message = (
        f"{seen} Something beside context and model decides what the log holds, such as a memory, a personal setting "
        "or another version of the model: whoever asks may then shape both output and outcome."
    )
    remedy = (
        "Put what the system knew into the context, or keep only log rows of a fresh session; if only the version "
        "differs, the log can still teach the reward."
    )
    return (
        Finding(
            CHECK, verdict(telling.p_value, level), message, remedy, number=telling.advantage(level), assumption="A4"
        ),
    )


def compare_log(material: StudyArrays, study: Study, seed: int) -> Telling | None:
    """The log's outputs against replay, on the contexts that were replayed."""
    table = study.log.arrow
    context = _places(table["context_id"], material.replay.contexts)
    model = _places(table["model"], material.models)
    return tell_apart(beside_replay(material, material.log.blocks, context, model, seed), seed)


def _untested(material: StudyArrays, study: Study) -> Finding:
    ids = pa.array(material.replay.contexts, pa.string())
    shared = int(pc.sum(pc.is_in(pc.unique(study.log.arrow["context_id"]), value_set=ids)).as_py() or 0)
    message = (
        f"{shared:,} of the log's contexts were replayed, and {FEWEST} cells of one context and one model are the "
        "fewest that can be compared: whether a memory or a personal setting shaped the log's outputs stays open."
    )
    remedy = "Replay some of the log's contexts, a few dozen with the models that the log used on them."
    return Finding(CHECK, "cannot tell", message, remedy, assumption="A4")


def _places(column: pa.ChunkedArray, names: tuple[str, ...]) -> IntArray:
    """Where each value stands among the names; -1 where it does not."""
    found = pc.fill_null(pc.index_in(column, value_set=pa.array(names, pa.string())), -1)
    return np.asarray(found.to_numpy(), dtype=np.int64)
