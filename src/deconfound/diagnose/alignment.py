"""A5: values are averages over contexts, so it must be known whose contexts they are.

A shift never fails by itself, since the values stay right for the experiment's contexts. What fails is a target that
the experiment says nothing about: see ``target``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Study
from deconfound.design import IntArray
from deconfound.diagnose.contexts import Contexts, averaged, columns_of_contexts, gather, read_target, together
from deconfound.diagnose.target import overlap, target_weights
from deconfound.diagnose.telling import FEWEST, Sample, Telling, tell_apart
from deconfound.diagnose.thinning import thinned
from deconfound.diagnose.verdicts import shown, warned
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding
from deconfound.formatting import format_percent, pluralize

SAME = Telling(0.5, 1.0, 0, 1, ())  # what there is to tell between a set of contexts and itself


@dataclass(frozen=True, slots=True)
class _Question:
    """A table whose contexts are set against the experiment's, and what a shift between them would mean."""

    check: str
    whose: str
    meaning: str
    remedy: str


LOG = _Question(
    "contexts of the log",
    "the log's",
    "The values stay right for the experiment's contexts, but the log teaches less about those and its raw averages "
    "are about others.",
    "The values need nothing; give --target if the log's contexts are the ones that matter.",
)
REPLAY = _Question(
    "contexts of the replay",
    "those replayed beyond them",
    "Averages over all replayed contexts would be about another population than the experiment's.",
    "Average over the experiment's contexts alone, or draw both from one list at random.",
)
TARGET = _Question(
    "contexts of the target",
    "the target's",
    "Values without weights are about other contexts than the target's.",
    "Use the values weighted to the target, and mind their effective sample size.",
)


def alignment(
    material: StudyArrays, study: Study, target: pa.Table | None, seed: int, level: float
) -> tuple[Finding, ...]:
    """Whether log, further replay and target have contexts like the experiment's, and what the target would cost."""
    findings = [_finding(LOG, study, compare_log_contexts(study, seed), level)]
    if study.replay.unique_values("context_id") - study.experiment.unique_values("context_id"):
        findings.append(_finding(REPLAY, study, compare_replay_contexts(study, seed), level))
    if target is not None:
        findings.append(_finding(TARGET, study, compare_target_contexts(study, target, seed), level))
        weights = target_weights(material, study, target, seed)
        findings += [] if weights is None else [overlap(weights)]
    return tuple(findings)


def compare_log_contexts(study: Study, seed: int) -> Telling | None:
    """The experiment's contexts against the log's; None where they are too few or nothing describes them."""
    return _compare(study.experiment.arrow, study.log.arrow, columns_of_contexts(study), seed)


def compare_replay_contexts(study: Study, seed: int) -> Telling | None:
    """The experiment's contexts against those that were replayed beyond them."""
    if study.has_text:
        return _compare(study.experiment.arrow, study.replay.arrow, (), seed)
    # Every model was replayed on every context, so that means over a context's rows compare whatever the columns hold.
    means = averaged(study.replay.arrow, study.feature_names)
    ours = pa.array(study.experiment.unique_values("context_id"), pa.string())
    within = means.filter(pc.is_in(means["context_id"], value_set=ours))
    return _compare(within, means, study.feature_names, seed)


def compare_target_contexts(study: Study, target: pa.Table, seed: int) -> Telling | None:
    """The experiment's contexts against a target's."""
    columns = columns_of_contexts(study)
    if not (study.has_text or columns):
        return None
    return _compare(study.experiment.arrow, read_target(study, target, columns), columns, seed)


def _compare(experiment: pa.Table, other: pa.Table, columns: tuple[str, ...], seed: int) -> Telling | None:
    if not ("context" in experiment.column_names or columns):
        return None
    ours, theirs = gather((experiment, other), columns)
    left, right = drawn(ours, theirs, seed)
    if not len(left) and not len(right):
        return SAME
    group = np.arange(len(left) + len(right)) < len(left)
    kept = thinned(group, np.zeros(len(group), dtype=np.int64), seed)
    group = group[kept]
    if not len(kept):
        return None
    rows = np.concatenate([left, right])[kept]
    both = together([ours.describe(rows[group]), theirs.describe(rows[~group])])
    one = np.zeros(len(group), dtype=np.int64)
    return tell_apart(Sample(both.text, both.dense, group, one, np.arange(len(group)), one), seed)


def drawn(ours: Contexts, theirs: Contexts, seed: int) -> tuple[IntArray, IntArray]:
    """One row for each context to compare, of either table; none at all where both hold the same contexts.

    Of a cluster only one row is taken: a user's contexts are alike, and not many draws from the population. Where one
    table holds all contexts of the other, the others are set against the rest, as fits a random part of a list. Where
    they share some only, shared contexts are left out after both were cut to the same number of rows: popular contexts
    would otherwise be missing from the smaller table more often than from the larger.
    """
    rng = np.random.default_rng(seed)
    rows = [_one_a_cluster(each, rng) for each in (ours, theirs)]
    shared = np.intersect1d(ours.key, theirs.key)
    alone = [not np.isin(each.key, shared).all() for each in (ours, theirs)]
    if len(shared) and all(alone):
        size = min(len(index) for index in rows)
        rows = [rng.permutation(index)[:size] for index in rows]
        shared = np.intersect1d(ours.key[rows[0]], theirs.key[rows[1]])
    if not any(alone):
        return rows[0][:0], rows[1][:0]
    left, right = (shared if own else shared[:0] for own in alone)
    return _distinct(ours, rows[0], left), _distinct(theirs, rows[1], right)


def _one_a_cluster(contexts: Contexts, rng: np.random.Generator) -> IntArray:
    shuffled = rng.permutation(len(contexts.key))
    if contexts.cluster is None:
        return shuffled
    return shuffled[np.unique(contexts.cluster[shuffled], return_index=True)[1]]


def _distinct(contexts: Contexts, rows: IntArray, without: IntArray) -> IntArray:
    rows = rows[~np.isin(contexts.key[rows], without)]
    return rows[np.unique(contexts.key[rows], return_index=True)[1]]


def _finding(question: _Question, study: Study, telling: Telling | None, level: float) -> Finding:
    check, whose = question.check, question.whose
    if telling is None:
        return _untold(question, study)
    if telling is SAME:
        return Finding(check, "pass", f"The experiment has the same contexts as {whose}.", number=0.0, assumption="A5")
    size = pluralize(telling.rows, "context")
    seen = (
        f"({format_percent(telling.share, 0)} right over {size}, guessing is right in 50 %; {shown(telling.p_value)})"
    )
    if warned(telling.p_value, level) == "pass":
        message = f"The experiment's contexts are not told from {whose} {seen}."
        return Finding(check, "pass", message, number=telling.advantage(level), assumption="A5")
    message = f"The experiment's contexts are told from {whose} {seen}. {question.meaning}"
    return Finding(check, "warn", message, question.remedy, number=telling.advantage(level), assumption="A5")


def _untold(question: _Question, study: Study) -> Finding:
    if study.has_text or columns_of_contexts(study):
        message = (
            f"Fewer than {FEWEST} contexts of the experiment or fewer than {FEWEST} others can be compared (one for "
            f"each cluster): whether the experiment's are like {question.whose} stays open."
        )
        return Finding(question.check, "cannot tell", message, "Use more contexts or clusters.", assumption="A5")
    message = f"No feature_* column describes a context by itself, so that {question.whose} cannot be set against it."
    remedy = "Add feature_* columns that depend on the context alone, or the text of the contexts."
    return Finding(question.check, "cannot tell", message, remedy, assumption="A5")
