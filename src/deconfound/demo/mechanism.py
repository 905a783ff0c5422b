"""The laws of the demo: how a person judges a note, and how a person comes to use a model.

Each person at the desk has a hidden state of two independent standard normal numbers: ``generosity``, how kindly
everything is judged, and ``taste``, how much warm words please. With the marks of a note,

    merit   = base + coverage, length and honesty as weighted below           (of the two texts alone)
    outcome = sigmoid(merit + kindness * generosity + sweetness * padding * taste + noise * eps)

and integrating the person and the noise out leaves a normal integral in one dimension, so that the reward
``r*(x, m)`` is exact up to quadrature.

In the log people choose for themselves. Generous people who like warm words have settled on maple, the flatterer;
people who are hard to please have found cedar, the best, and the desk's rule sends long messages there too. So maple
is judged by its friends and cedar by the stern on the hardest cases: the log puts a poor model first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from deconfound.demo.quality import Marks
from deconfound.design import FloatArray

QUADRATURE_NODES = 40


@dataclass(frozen=True, slots=True)
class Pull:
    """What draws people to one model in the log, on the scale of log-odds."""

    model: str
    popularity: float = 0.0
    generosity: float = 0.0
    taste: float = 0.0
    load: float = 0.4


PULLS = (
    Pull("aspen", generosity=0.2, load=-0.3),
    Pull("birch", generosity=0.4, taste=0.2),
    Pull("cedar", popularity=-0.5, generosity=-2.0, taste=-0.4, load=0.8),
    Pull("fir", generosity=0.1),
    Pull("maple", popularity=-1.0, generosity=2.0, taste=1.2, load=-0.5),
    Pull("oak", generosity=-1.0, load=0.2),
)


@dataclass(frozen=True, slots=True)
class Mechanism:
    """Every constant of the demo's laws.

    ``confounding`` scales what the hidden state has to do with the choice of model; at 0 the log is confounded by
    nothing that the message does not show.
    """

    base: float = -2.5
    coverage: float = 4.4
    invented: float = 0.55
    bloat: float = 0.6
    padding: float = 0.2
    repetition: float = 0.8
    load: float = 0.4
    kindness: float = 0.75
    sweetness: float = 0.8
    noise: float = 0.35
    confounding: float = 1.0
    pulls: tuple[Pull, ...] = PULLS

    def merit(self, marks: FloatArray) -> FloatArray:
        """Weigh the marks (n, 6) of notes into what an average person thinks of them."""
        weights = {
            "coverage": self.coverage,
            "invented": -self.invented,
            "bloat": -self.bloat,
            "padding": -self.padding,
            "repetition": -self.repetition,
            "load": -self.load,
        }
        return np.asarray(self.base + marks @ np.array([weights[name] for name in Marks._fields]), dtype=np.float64)

    def outcome(self, marks: FloatArray, state: FloatArray, eps: FloatArray) -> FloatArray:
        """Judge notes: ``state`` (n, 2) is each judge's generosity and taste, ``eps`` (n,) the noise."""
        sweet = self.sweetness * marks[:, Marks._fields.index("padding")]
        judged = self.merit(marks) + self.kindness * state[:, 0] + sweet * state[:, 1] + self.noise * eps
        return np.asarray(expit(judged), dtype=np.float64)

    def reward(self, marks: FloatArray) -> FloatArray:
        """Give r*(x, m): the outcome with judge and noise integrated out."""
        sweet = self.sweetness * marks[:, Marks._fields.index("padding")]
        spread = np.sqrt(self.kindness**2 + sweet**2 + self.noise**2)
        nodes, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE_NODES)
        judged = self.merit(marks)[:, None] + spread[:, None] * nodes
        return np.asarray(expit(judged) @ (weights / weights.sum()), dtype=np.float64)

    def choice(self, state: FloatArray, load: FloatArray) -> FloatArray:
        """Give the probability (n, k) that a person in this state takes each model of ``pulls`` for such a message."""
        odds = (
            np.array([pull.popularity for pull in self.pulls])
            + load[:, None] * np.array([pull.load for pull in self.pulls])
            + self.confounding * state @ np.array([[pull.generosity, pull.taste] for pull in self.pulls]).T
        )
        return np.asarray(softmax(odds, axis=1), dtype=np.float64)
