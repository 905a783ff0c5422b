"""Draw a log and an experiment; everything that may be paired is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound_bench.synthetic import law as laws
from deconfound_bench.synthetic.law import Law

LOG, EXPERIMENT = 101, 102  # streams of luck; the law's own, from the seed of the constants, are 1 to 5


@dataclass(frozen=True, slots=True)
class Written:
    """Some contexts and what every model writes on them, in the law's terms."""

    row: IntArray  # (contexts, models, draws) into the rows
    hidden: FloatArray  # (rows, hidden) phi*, standardised
    embedding: FloatArray  # (contexts, embedding) psi_X, standardised

    def average(self, reward: FloatArray) -> FloatArray:
        """q (contexts, models) from the reward of each row: the mean over draws."""
        return np.asarray(reward[self.row].mean(axis=2))

    def context(self) -> IntArray:
        """The context of each row."""
        context = np.empty(len(self.hidden), dtype=np.int64)
        context[self.row] = np.arange(len(self.row))[:, None, None]
        return context


@dataclass(frozen=True, slots=True)
class Logged:
    """Rows of a log, by their place among the kept rows."""

    row: IntArray
    model: IntArray
    outcome: FloatArray
    labels: FloatArray  # (n, labels)


@dataclass(frozen=True, slots=True)
class Trialled:
    """Rows of an experiment."""

    row: IntArray
    context: IntArray
    model: IntArray
    outcome: FloatArray


def draw_log(law: Law, kept: Written, confounding: float, rows: int, longest: int, seed: int) -> Logged:
    """``rows`` of confounded use.

    The luck of ``longest`` rows is drawn first: a shorter log is the start of a longer one, and logs that differ in
    confounding alone share contexts, users and noise.
    """
    rng = np.random.default_rng([seed, LOG])
    context = rng.integers(len(kept.row), size=longest)[:rows]
    taste = rng.standard_normal((longest, len(law.effect)))[:rows]
    coin, pick, draw = rng.random((3, longest))[:, :rows]
    noise = rng.standard_normal(longest)[:rows]
    luck = rng.standard_normal((longest, len(law.views)))[:rows]
    user = laws.users(law, kept.embedding[context], taste)
    policy = laws.context_policy(law, kept.embedding)[context]
    follows = coin < confounding
    policy[follows] = laws.user_policy(law, user[follows])
    model = laws.choose(policy, pick)
    row = kept.row[context, model, (draw * kept.row.shape[2]).astype(np.int64)]
    hidden = kept.hidden[row]
    return Logged(row, model, laws.outcomes(law, hidden, user, noise), laws.labels(law, hidden, luck))


def draw_experiment(law: Law, kept: Written, rows: int, seed: int) -> Trialled:
    """``rows`` of uniform randomization."""
    rng = np.random.default_rng([seed, EXPERIMENT])
    contexts, models, draws = kept.row.shape
    context = rng.integers(contexts, size=rows)
    model = rng.integers(models, size=rows)
    draw = rng.integers(draws, size=rows)
    user = laws.users(law, kept.embedding[context], rng.standard_normal((rows, len(law.effect))))
    row = kept.row[context, model, draw]
    outcome = laws.outcomes(law, kept.hidden[row], user, rng.standard_normal(rows))
    return Trialled(row, context, model, outcome)
