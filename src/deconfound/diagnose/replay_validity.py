"""A2: the replay runs what the experiment ran, and leads nowhere the experiment has not been."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.outputs import beside_replay, in_words
from deconfound.diagnose.telling import FEWEST, Telling, tell_apart
from deconfound.diagnose.verdicts import verdict
from deconfound.diagnose.words import described
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding, Verdict
from deconfound.formatting import format_percent, join_names, pluralize

NEAR = 0.99  # of the experiment's outputs lie this near to another of their model; beyond is outside its support
NOTABLE = 0.05  # share outside the support that is worth a warning, however surely it is there
LOST = 0.5  # share outside the support at which the reward is mostly a guess
MAX_REFERENCE = 500  # experiment rows of a model that distances are taken to
MAX_LOOKED_AT = 1_000  # replayed outputs of a model that are placed


@dataclass(frozen=True, slots=True)
class Support:
    """Replayed outputs of one model farther from the experiment's than those are from each other."""

    model: int
    share: float
    p_value: float


def replay_validity(material: StudyArrays, seed: int, level: float) -> tuple[Finding, ...]:
    """Whether replay and experiment write alike, where replay leaves the experiment, and what replay lacks."""
    alike = _alike(material, compare_experiment(material, seed), level)
    return (alike, _supported(material, seed, level), _complete(material))


def compare_experiment(material: StudyArrays, seed: int) -> Telling | None:
    """The experiment's outputs against replay of the same context by the same model."""
    trial = material.experiment
    return tell_apart(beside_replay(material, trial.blocks, trial.context, trial.model, seed), seed)


def _alike(material: StudyArrays, telling: Telling | None, level: float) -> Finding:
    check = "replay validity"
    if telling is None:
        message = (
            f"Fewer than {FEWEST} experiment rows can be compared with their replay: whether the replay writes as the "
            "models did in the experiment stays open."
        )
        return Finding(check, "cannot tell", message, "Randomize more contexts.", assumption="A2")
    seen = in_words(telling, "the experiment's own", material.models, level)
    if telling.p_value >= 1.0 - level:
        return Finding(check, "pass", seen, number=telling.advantage(level), assumption="A2")
    message = f"{seen} The values are then those of what was replayed, and not of what the experiment ran."
    remedy = (
        "Replay with the version, settings and instructions of the experiment, or repeat the experiment with today's."
    )
    return Finding(
        check, verdict(telling.p_value, level), message, remedy, number=telling.advantage(level), assumption="A2"
    )


def _supported(material: StudyArrays, seed: int, level: float) -> Finding:
    check = "replay support"
    found = supports(material, seed)
    unseen = [name for code, name in enumerate(material.models) if code not in {each.model for each in found}]
    thin = f" Not looked at, for fewer than {FEWEST} experiment rows: {join_names(unseen)}." if unseen else ""
    if not found:
        message = f"No model has {FEWEST} experiment rows to say what its outputs are like."
        return Finding(check, "cannot tell", message, "Randomize more contexts.", assumption="A2")
    largest = max(each.share for each in found)
    far = sorted((e for e in found if _verdict(e, len(found), level) != "pass"), key=lambda each: -each.share)
    if not far:
        most = f"At most {format_percent(largest, 0)} of a model's replayed outputs"
        message = f"{most} are unlike all its outputs in the experiment.{thin}"
        return Finding(check, "pass", message, number=largest, assumption="A2")
    lost = any(_verdict(each, len(found), level) == "fail" for each in far)
    named = join_names(f"{material.models[each.model]} ({format_percent(each.share, 0)})" for each in far)
    message = (
        f"Replayed outputs unlike anything the same model wrote in the experiment: {named}. There the reward is "
        f"carried over from other outputs, and nothing in the data can confirm it.{thin}"
    )
    remedy = "Look for failed or cut replays, and draw these models more often in the experiment."
    return Finding(check, "fail" if lost else "warn", message, remedy, number=largest, assumption="A2")


def _verdict(support: Support, models: int, level: float) -> Verdict:
    """The p-value's verdict, held back while the share is small."""
    chance = verdict(min(1.0, support.p_value * models), level)
    if support.share < NOTABLE:
        return "pass"
    return "warn" if chance == "fail" and support.share < LOST else chance


def supports(material: StudyArrays, seed: int) -> tuple[Support, ...]:
    """For each model with enough experiment rows, the share of replayed outputs outside their support."""
    trial, cells = material.experiment, material.replay
    rng = np.random.default_rng(seed)
    _, first = np.unique(cells.context * cells.n_models + cells.model, return_index=True)
    first = first[np.isin(cells.context[first], trial.context)]
    found = []
    for code in range(cells.n_models):
        own = _some(np.flatnonzero(trial.model == code), MAX_REFERENCE, rng)
        drawn = _some(first[cells.model[first] == code], MAX_LOOKED_AT, rng)
        if len(np.unique(trial.context[own])) < FEWEST:
            continue
        reference = described(trial.blocks, trial.blocks.row_index[own])
        replayed = described(cells.blocks, cells.blocks.row_index[drawn])
        within = nearest(reference, trial.context[own], reference, trial.context[own])
        beyond = nearest(replayed, cells.context[drawn], reference, trial.context[own])
        found.append(Support(code, *outside(within, beyond)))
    return tuple(found)


def outside(within: FloatArray, beyond: FloatArray) -> tuple[float, float]:
    """Share of ``beyond`` above the ``NEAR`` quantile of ``within``, and the chance of so many if both are alike.

    The share above the r-th of n ordered distances is Beta(n + 1 - r, r), so the count of N is beta-binomial.
    """
    rank = int(np.ceil(NEAR * len(within)))
    limit = np.sort(within)[rank - 1]
    count = int(np.count_nonzero(beyond > limit * (1 + 1e-9)))
    p_value = float(stats.betabinom.sf(count - 1, len(beyond), len(within) + 1 - rank, rank))
    return count / len(beyond), p_value


def nearest(rows: FloatArray, context: IntArray, reference: FloatArray, where: IntArray) -> FloatArray:
    """Distance of each row to the nearest reference row of another context."""
    squares = (rows**2).sum(axis=1)[:, None] + (reference**2).sum(axis=1) - 2 * rows @ reference.T
    squares[context[:, None] == where] = np.inf
    return np.asarray(np.sqrt(np.maximum(squares.min(axis=1), 0.0)))


def _some(index: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    return index if len(index) <= count else np.sort(rng.choice(index, count, replace=False))


def _complete(material: StudyArrays) -> Finding:
    cells = material.replay
    draws = np.bincount(cells.context * cells.n_models + cells.model, minlength=len(cells.contexts) * cells.n_models)
    lacking = int((draws.reshape(-1, cells.n_models) == 0).any(axis=1).sum())
    held = draws[draws > 0]
    few, many = int(held.min()), int(held.max())
    short = int((held < many).sum())
    check, number = "replay draws", (lacking * cells.n_models + short) / len(draws)
    if not lacking and few == many:
        message = f"Every model was replayed on every context, {pluralize(few, 'draw')} each."
        return Finding(check, "pass", message, number=0.0, assumption="A2")
    parts = [f"{lacking:,} of {len(cells.contexts):,} replayed contexts lack a model"] if lacking else []
    parts += [f"{short:,} of {len(held):,} cells have fewer than the {many} draws of others"] if short else []
    message = (
        f"{'; '.join(parts)}. If calls failed on some outputs and not on others, what is left is no fair sample of "
        "what the models write."
    )
    return Finding(check, "warn", message, "Repeat the calls that are missing.", number=number, assumption="A2")
