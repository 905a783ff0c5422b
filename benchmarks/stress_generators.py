"""Studies with exactly known truth for the stress benchmark: numbers in feature columns, no text.

The expected outcome of an output z that model a wrote on context c for user u is

    p = value_a + slope x_c + interaction_a w_c + hidden_c + hidden_ca + user_u + effect (z - mean output of a)

x and w are recorded columns; the hidden effects and the user's are not recorded. Every term after the first
has mean zero and is independent of the model that the experiment draws. So ``value_a`` is the value of model a exactly,
and value_a + slope x_c + interaction_a w_c + hidden_c + hidden_ca is its true q on context c. All terms are bounded and
p never leaves [0, 1] (``Mechanism`` refuses numbers for which it could), so no clipping spoils the truth.

In the log the expected outcome is p + log_bias_a: what remains of people's choice of model after averaging over them.
The log's own mean of model a is therefore value_a + log_bias_a. Its slopes interaction_a may be another multiple of
these, which changes no mean.

Outcomes near 0 and 1 leave no room for effects of users. There ``user_agreement`` makes rows of one user alike: two of
them use the same random number with probability ``user_agreement`` squared, which changes no expected outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from scipy.special import ndtr, ndtri

from deconfound.design import FloatArray, IntArray

MAX_Z = 3.0  # normal effects are truncated at three standard deviations, so that expected outcomes stay in [0, 1]
TRUNCATED_SD = float(np.sqrt(1 - 2 * MAX_Z * np.exp(-(MAX_Z**2) / 2) / np.sqrt(2 * np.pi) / (2 * ndtr(MAX_Z) - 1)))
"""Standard deviation of a standard normal variable truncated at ``MAX_Z``."""

UNEVEN_POWER = 0.7  # the r-th of uneven users gets a share of rows proportional to r^-0.7
QUADRATURE_POINTS = 20_001  # equal probabilities of w; the error of an expected maximum is below 1e-7


@dataclass(frozen=True, slots=True)
class Mechanism:
    """How outcomes arise. Scales of normal effects are standard deviations before truncation."""

    value: tuple[float, ...]  # (k,) true values
    slope: float = 0.05  # of feature_topic, the same for all models
    interaction: tuple[float, ...] = ()  # (k,) slope of feature_length per model; none by default
    hidden_context: float = 0.0  # scale of a context's effect on all models
    hidden_by_model: tuple[float, ...] = ()  # (k,) scale of a context's effect on one model
    user: float = 0.0  # scale of a user's effect
    user_agreement: float = 0.0  # share of rows in which a user's own random number decides, the same in all of them
    output_effect: float = 0.03  # of feature_output, which varies by 1 to either side of the model's mean
    revealed: float = 0.5  # share of the differences in value that the mean outputs explain
    yes_no: bool = False
    noise: float = 0.8  # continuous noise is uniform over this share of the largest symmetric range inside [0, 1]
    log_bias: tuple[float, ...] = ()  # (k,) none by default
    log_interaction: float = 1.0  # the log's slopes of feature_length, as a multiple of ``interaction``

    def __post_init__(self) -> None:
        slopes = np.abs(self.interactions) * max(1.0, abs(self.log_interaction))
        effects = MAX_Z * (self.slope + slopes + self.hidden_context + self.hidden_scales + self.user)
        reach, value = effects + self.output_effect, np.array(self.value)
        lowest, highest = value - reach + np.minimum(self.biases, 0), value + reach + np.maximum(self.biases, 0)
        if lowest.min() < 0 or highest.max() > 1:
            raise ValueError(f"Expected outcomes reach {lowest.min():.3f} to {highest.max():.3f}, outside 0 to 1.")

    @property
    def interactions(self) -> FloatArray:
        """Slope of feature_length per model (k,)."""
        return np.array(self.interaction or np.zeros(len(self.value)))

    @property
    def hidden_scales(self) -> FloatArray:
        """Scale of the hidden context effect per model (k,)."""
        return np.array(self.hidden_by_model or np.zeros(len(self.value)))

    @property
    def biases(self) -> FloatArray:
        """Bias of the log per model (k,)."""
        return np.array(self.log_bias or np.zeros(len(self.value)))

    @property
    def output_means(self) -> FloatArray:
        """Mean of feature_output per model (k,)."""
        value = np.array(self.value)
        return np.asarray(self.revealed * (value - value.mean()) / self.output_effect)

    def oracle_gain(self) -> float:
        """Expected gain of the best model per context over the best single one, by what the columns show.

        E max_a (value_a + interaction_a w) - max_a value_a, by quadrature over the distribution of w.
        """
        edge = ndtr(-MAX_Z)
        w = ndtri(edge + (np.arange(QUADRATURE_POINTS) + 0.5) / QUADRATURE_POINTS * (1 - 2 * edge))
        return float((np.array(self.value) + w[:, None] * self.interactions).max(axis=1).mean() - max(self.value))


@dataclass(frozen=True, slots=True)
class Design:
    """Sizes of the tables; models are drawn uniformly and independently in the experiment."""

    rows: int  # of the experiment
    log_rows: int = 400
    recurring: int = 0  # contexts on which log and experiment repeat; 0 for a new context in every row
    users: int = 0  # in the experiment; 0 for no user column
    uneven_users: bool = False
    heaviest_user: float = 0.0  # share of the rows of one user, beyond an equal share
    extra_contexts: int = 0  # replayed beyond the experiment's
    extra_shift: float = 0.0  # of feature_topic on these contexts, in standard deviations
    fresh_contexts: int = 600  # of the same population, for the recommended policy's true value


@dataclass(frozen=True, slots=True)
class Users:
    """The users of one source."""

    count: int  # 0 for no user column
    prefix: str  # of their names
    uneven: bool
    heaviest: float  # share of the first user

    def draw(self, rows: int, rng: np.random.Generator) -> IntArray:
        """The user of each row (n,)."""
        weight = np.arange(1.0, self.count + 1) ** (-UNEVEN_POWER if self.uneven else 0.0)
        share = (1 - self.heaviest) * weight / weight.sum()
        share[0] += self.heaviest
        return np.asarray(rng.choice(self.count, size=rows, p=share))


@dataclass(frozen=True, slots=True)
class Contexts:
    """Contexts with their recorded columns and the true q of every model."""

    ids: list[str]
    columns: FloatArray  # (n, 2) feature_topic and feature_length
    q: FloatArray  # (n, k)

    def take(self, at: IntArray) -> Contexts:
        """Some of the contexts, possibly repeated."""
        return Contexts([self.ids[i] for i in at.tolist()], self.columns[at], self.q[at])


@dataclass(frozen=True, slots=True)
class SimulatedStudy:
    """Tables for ``dc.load`` and the truth about them. Models are in the order of the mechanism's values."""

    models: tuple[str, ...]
    log: pa.Table
    experiment: pa.Table
    replay: pa.Table
    fresh: pa.Table  # replay of new contexts
    value: FloatArray  # (k,)
    log_value: FloatArray  # (k,) expected mean of the raw log
    oracle_gain: float
    q: dict[str, FloatArray]  # true q (k,) of every replayed context
    fresh_contexts: Contexts
    rows: Contexts  # context of each experiment row
    model: IntArray  # (n,) of the experiment's rows
    outcome: FloatArray  # (n,)

    def first_rows(self, count: int) -> SimulatedStudy:
        """The study as it was when the experiment had ``count`` rows."""
        start = np.arange(count)
        return replace(
            self,
            experiment=self.experiment.slice(0, count),
            rows=self.rows.take(start),
            model=self.model[:count],
            outcome=self.outcome[:count],
        )


def truncated_normal(rng: np.random.Generator, shape: int | tuple[int, ...]) -> FloatArray:
    """Standard normal numbers truncated at ``MAX_Z`` to either side."""
    edge = ndtr(-MAX_Z)
    return np.asarray(ndtri(rng.uniform(edge, 1 - edge, shape)))


def simulate(mechanism: Mechanism, design: Design, rng: np.random.Generator) -> SimulatedStudy:
    """One study. Names are dealt out at random, so that ties resolved by name favour no model."""
    count = len(mechanism.value)
    models = tuple(f"model-{code:02d}" for code in rng.permutation(count).tolist())
    pool = draw_contexts(mechanism, "c", design.recurring or design.rows, rng)
    rows = pool.take(rng.integers(design.recurring, size=design.rows)) if design.recurring else pool
    extra = draw_contexts(mechanism, "x", design.extra_contexts, rng, design.extra_shift * TRUNCATED_SD)
    fresh = draw_contexts(mechanism, "f", design.fresh_contexts, rng)
    log_pool = pool if design.recurring else draw_contexts(mechanism, "l", design.log_rows, rng)
    log_rows = log_pool.take(rng.integers(design.recurring, size=design.log_rows)) if design.recurring else log_pool
    popularity = np.linspace(1.5, 0.5, count) / count
    log_model = rng.choice(count, size=design.log_rows, p=popularity)
    model = rng.integers(count, size=design.rows)
    log_users = max(design.log_rows * design.users // design.rows, 1) if design.users else 0
    users, users_of_log = (
        Users(number, prefix, design.uneven_users, design.heaviest_user)
        for number, prefix in ((design.users, "e"), (log_users, "l"))
    )
    experiment, outcome = rated(mechanism, models, rows, model, np.zeros(design.rows), users, rng)
    log_slope = (mechanism.log_interaction - 1.0) * mechanism.interactions
    bias = (mechanism.biases + log_rows.columns[:, 1:] * log_slope)[np.arange(design.log_rows), log_model]
    log, _ = rated(mechanism, models, log_rows, log_model, bias, users_of_log, rng)
    replayed = Contexts(pool.ids + extra.ids, np.vstack([pool.columns, extra.columns]), np.vstack([pool.q, extra.q]))
    return SimulatedStudy(
        models=models,
        log=log,
        experiment=experiment,
        replay=replayed_outputs(mechanism, models, replayed, rng),
        fresh=replayed_outputs(mechanism, models, fresh, rng),
        value=np.array(mechanism.value),
        log_value=np.array(mechanism.value) + mechanism.biases,
        oracle_gain=mechanism.oracle_gain(),
        q=dict(zip(replayed.ids, replayed.q, strict=True)),
        fresh_contexts=fresh,
        rows=rows,
        model=model,
        outcome=outcome,
    )


def draw_contexts(
    mechanism: Mechanism, prefix: str, count: int, rng: np.random.Generator, shift: float = 0.0
) -> Contexts:
    """New contexts of the population; ``shift`` moves feature_topic."""
    columns = truncated_normal(rng, (count, 2)) + np.array([shift, 0.0])
    q = np.array(mechanism.value) + mechanism.slope * columns[:, :1] + columns[:, 1:] * mechanism.interactions
    q = q + mechanism.hidden_context * truncated_normal(rng, (count, 1))
    q = q + mechanism.hidden_scales * truncated_normal(rng, (count, len(mechanism.value)))
    return Contexts([f"{prefix}{number}" for number in range(count)], columns, np.asarray(q))


def rated(
    mechanism: Mechanism,
    models: tuple[str, ...],
    contexts: Contexts,
    model: IntArray,
    bias: FloatArray,
    users: Users,
    rng: np.random.Generator,
) -> tuple[pa.Table, FloatArray]:
    """Rows with outcomes, as a table, and the outcomes; ``bias`` (n,) is added to what is expected."""
    deviation = rng.uniform(-1.0, 1.0, len(model))
    expected = contexts.q[np.arange(len(model)), model] + mechanism.output_effect * deviation + bias
    user = users.draw(len(model), rng) if users.count else None
    if user is not None:
        expected = expected + mechanism.user * truncated_normal(rng, users.count)[user]
    uniform = rng.random(len(model))
    if user is not None and mechanism.user_agreement:
        is_own = rng.random(len(model)) < mechanism.user_agreement
        uniform = np.where(is_own, rng.random(users.count)[user], uniform)
    noise = (2 * uniform - 1) * mechanism.noise * np.minimum(expected, 1 - expected)
    outcome = (uniform < expected).astype(np.float64) if mechanism.yes_no else expected + noise
    table = shared_columns(models, contexts, model, mechanism.output_means[model] + deviation)
    table = table.append_column("outcome", pa.array(outcome))
    if user is not None:
        table = table.append_column("cluster", pa.array([f"{users.prefix}{number}" for number in user.tolist()]))
    return table, outcome


def replayed_outputs(
    mechanism: Mechanism, models: tuple[str, ...], contexts: Contexts, rng: np.random.Generator
) -> pa.Table:
    """One output of every model on every context."""
    at, model = (axis.ravel() for axis in np.indices((len(contexts.ids), len(models))))
    output = mechanism.output_means[model] + rng.uniform(-1.0, 1.0, len(model))
    return shared_columns(models, contexts.take(at), model, output)


def shared_columns(models: tuple[str, ...], contexts: Contexts, model: IntArray, output: FloatArray) -> pa.Table:
    """The columns that all tables have."""
    return pa.table(
        {
            "context_id": contexts.ids,
            "model": [models[code] for code in model.tolist()],
            "feature_topic": contexts.columns[:, 0],
            "feature_length": contexts.columns[:, 1],
            "feature_output": output,
        }
    )
