"""Simulated experiments that grow by batches, with exactly known values at every look."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.value import ScoredExperiment

CONTEXT_EFFECT, USER_EFFECT, USER_MODEL_EFFECT = 0.2, 0.2, 0.3  # of the distance to the nearer end of the scale
USERS_PER_ROW = 0.2  # distinct users, or recurring contexts, as a share of the horizon's rows
REWARD_NOISE = 0.05
DRIFT = 0.2  # by which every value rises from the first to the last row


@dataclass(frozen=True, slots=True)
class Growing:
    """One kind of experiment: ``looks`` batches of equal size; outcomes have the means ``values``.

    Users and recurring contexts have an effect on the outcomes of all models and one on those of each model.
    """

    values: tuple[float, ...]
    rows_per_look: int
    looks: int
    yes_no: bool = True
    rare: bool = False  # graded outcomes of which most are near zero and a few near one
    tolerance: float = 0.0
    users: bool = False  # few users, who return in later batches
    recurring: bool = False  # few contexts, which return in later batches
    per_user: bool = False  # a user always gets the same model
    adaptive: bool = False  # the next batch has the propensities that monitoring proposes
    drift: bool = False

    @property
    def models(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(f"m{i}" for i in range(len(self.values)))

    @property
    def horizon(self) -> int:
        """Rows in all."""
        return self.rows_per_look * self.looks

    def true_values(self, rows: int) -> FloatArray:
        """Mean expected outcome of each model (k,) over the first rows."""
        mean = np.asarray(self.values)
        trend = DRIFT * (np.arange(rows) / self.horizon - 0.5) if self.drift else np.zeros(rows)
        return np.asarray(mean + trend.mean())


@dataclass(slots=True)
class Rows:
    """The rows so far; every batch is drawn with its own propensities."""

    kind: Growing
    rng: np.random.Generator
    user_effect: FloatArray = field(init=False)
    user_model_effect: FloatArray = field(init=False)
    context_model_effect: FloatArray = field(init=False)
    activity: FloatArray = field(init=False)
    user_number: FloatArray = field(init=False)
    batches: list[ScoredExperiment] = field(default_factory=list)

    def __post_init__(self) -> None:
        count, rng = max(int(USERS_PER_ROW * self.kind.horizon), 2), self.rng
        self.user_effect = rng.uniform(-1, 1, count)
        self.user_model_effect, self.context_model_effect = rng.uniform(-1, 1, (2, count, len(self.kind.values)))
        activity = rng.pareto(2.0, count) + 0.5
        self.activity, self.user_number = activity / activity.sum(), rng.random(count)

    def add(self, propensity: FloatArray) -> ScoredExperiment:
        """One more batch; returns all rows together."""
        kind, rng, n = self.kind, self.rng, self.kind.rows_per_look
        done = n * len(self.batches)
        new = done + np.arange(n)
        user = rng.choice(len(self.activity), n, p=self.activity) if kind.users else new
        context = rng.integers(len(self.activity), size=n) if kind.recurring else new
        number = self.user_number[user] if kind.per_user else rng.random(n)
        model = np.minimum(np.searchsorted(propensity.cumsum(), number, side="right"), len(propensity) - 1)
        visible = rng.uniform(-1, 1, n)
        expected = self._expected(visible, self._hidden_effect(user, context), done)
        q = 0.2 + 0.5 * self._expected(visible, np.zeros_like(expected), done)
        q += REWARD_NOISE * rng.normal(size=q.shape)
        self.batches.append(
            ScoredExperiment.from_arrays(
                kind.models,
                q,
                q[np.arange(n), model],
                model,
                _outcome(expected[np.arange(n), model], kind, rng),
                propensity=propensity[model],
                cluster=np.column_stack([user, context]),
            )
        )
        return _together(self.batches)

    def _hidden_effect(self, user: IntArray, context: IntArray) -> FloatArray:
        """What users and recurring contexts add to each model's outcome (n, k); zero on average over them."""
        effect = np.zeros((len(user), len(self.kind.values)))
        if self.kind.users:
            effect += USER_EFFECT * self.user_effect[user, None] + USER_MODEL_EFFECT * self.user_model_effect[user]
        if self.kind.recurring:
            effect += USER_MODEL_EFFECT * self.context_model_effect[context]
        return effect

    def _expected(self, visible: FloatArray, hidden: FloatArray, done: int) -> FloatArray:
        """Mean outcome of each model in each row (n, k); its mean over contexts and users is the true value."""
        kind = self.kind
        mean = np.tile(np.asarray(kind.values), (len(visible), 1))
        if kind.drift:
            mean += DRIFT * ((done + np.arange(len(visible))) / kind.horizon - 0.5)[:, None]
        return np.asarray(mean + (CONTEXT_EFFECT * visible[:, None] + hidden) * np.minimum(mean, 1 - mean))


def _outcome(mean: FloatArray, kind: Growing, rng: np.random.Generator) -> FloatArray:
    uniform = rng.random(len(mean))
    if kind.rare:
        return np.asarray(0.04 * uniform + 0.9 * (rng.random(len(mean)) < (mean - 0.02) / 0.9))
    if kind.yes_no:
        return np.asarray(uniform < mean, dtype=np.float64)
    return np.asarray(mean + (2 * uniform - 1) * np.minimum(mean, 1 - mean) * rng.choice([0.3, 1.0], len(mean)))


def _together(batches: list[ScoredExperiment]) -> ScoredExperiment:
    columns = ("q", "prediction", "model", "outcome", "propensity", "cluster", "weight")
    return ScoredExperiment(
        batches[0].models, *(np.concatenate([getattr(batch, name) for batch in batches]) for name in columns)
    )
