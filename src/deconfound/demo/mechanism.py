"""The demo's data-generating process: how people rate notes, and how they choose models in the log.

Each person has an unobserved state of two independent standard normal numbers: ``generosity``, added to every rating,
and ``taste``, a preference for polite phrases. Given the quality scores of a note,

    merit   = intercept + weighted quality scores                             (a function of the two texts alone)
    outcome = sigmoid(merit + generosity_weight * generosity + taste_weight * padding * taste + noise * eps)

The true reward integrates person and noise out. That is a one-dimensional normal integral, computed by quadrature.

In the log people choose their model. Generous people who like polite phrases prefer maple, a poor model. Strict people
prefer cedar, the best model, which also receives the long messages. So maple gets generous ratings, cedar strict ones
on hard messages, and the log ranks a poor model first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from deconfound.demo.quality import QualityScores
from deconfound.design import FloatArray

QUADRATURE_NODES = 40


@dataclass(frozen=True, slots=True)
class ChoiceLogit:
    """Coefficients of one model in the log's multinomial logit choice."""

    model: str
    popularity: float = 0.0
    generosity: float = 0.0
    taste: float = 0.0
    load: float = 0.4


CHOICE_LOGITS = (
    ChoiceLogit("aspen", generosity=0.2, load=-0.3),
    ChoiceLogit("birch", generosity=0.4, taste=0.2),
    ChoiceLogit("cedar", popularity=-0.5, generosity=-2.0, taste=-0.4, load=0.8),
    ChoiceLogit("fir", generosity=0.1),
    ChoiceLogit("maple", popularity=-1.0, generosity=2.0, taste=1.2, load=-0.5),
    ChoiceLogit("oak", generosity=-1.0, load=0.2),
)


@dataclass(frozen=True, slots=True)
class Mechanism:
    """Every constant of the data-generating process.

    ``confounding`` scales the effect of the unobserved state on the choice of model. At 0 the choice depends on the
    length of the message alone.
    """

    intercept: float = -2.5
    coverage: float = 4.4
    invented: float = 0.55
    bloat: float = 0.6
    padding: float = 0.2
    repetition: float = 0.8
    load: float = 0.4
    generosity_weight: float = 0.75
    taste_weight: float = 0.8
    noise: float = 0.35
    confounding: float = 1.0
    choice_logits: tuple[ChoiceLogit, ...] = CHOICE_LOGITS

    def merit(self, scores: FloatArray) -> FloatArray:
        """Rating (n,) by an average person before the sigmoid, from quality scores (n, 6)."""
        weights = {
            "coverage": self.coverage,
            "invented": -self.invented,
            "bloat": -self.bloat,
            "padding": -self.padding,
            "repetition": -self.repetition,
            "load": -self.load,
        }
        weight_vector = np.array([weights[name] for name in QualityScores._fields])
        return np.asarray(self.intercept + scores @ weight_vector, dtype=np.float64)

    def outcome(self, scores: FloatArray, state: FloatArray, eps: FloatArray) -> FloatArray:
        """Outcomes (n,) given quality scores, each person's generosity and taste (n, 2), and noise (n,)."""
        taste_slope = self._taste_slope(scores)
        rating = (
            self.merit(scores) + self.generosity_weight * state[:, 0] + taste_slope * state[:, 1] + self.noise * eps
        )
        return np.asarray(expit(rating), dtype=np.float64)

    def reward(self, scores: FloatArray) -> FloatArray:
        """The true reward r*(x, m) (n,): the expected outcome over people and noise."""
        sd = np.sqrt(self.generosity_weight**2 + self._taste_slope(scores) ** 2 + self.noise**2)
        nodes, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE_NODES)
        rating = self.merit(scores)[:, None] + sd[:, None] * nodes
        return np.asarray(expit(rating) @ (weights / weights.sum()), dtype=np.float64)

    def choice_probabilities(self, state: FloatArray, load: FloatArray) -> FloatArray:
        """Probability (n, k) that a person in this state chooses each model for a message of this load."""
        logits = (
            np.array([logit.popularity for logit in self.choice_logits])
            + load[:, None] * np.array([logit.load for logit in self.choice_logits])
            + self.confounding * state @ np.array([[logit.generosity, logit.taste] for logit in self.choice_logits]).T
        )
        return np.asarray(softmax(logits, axis=1), dtype=np.float64)

    def _taste_slope(self, scores: FloatArray) -> FloatArray:
        """Effect of a person's taste on each rating (n,)."""
        return np.asarray(self.taste_weight * scores[:, QualityScores._fields.index("padding")])
