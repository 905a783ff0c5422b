"""Who the users are, what they like, and how they choose: the truth behind the controlled validation.

phi*(x, m) = H phi(x, m)                    H: each hashed column goes to one of few coordinates with a sign
U | X = x  ~ N( mean(x), (1 - share) I )    mean(x): linear in the context's embedding
Y          = sigmoid( w*'phi* + effect'U + noise )
r*(x, m)   = E over U | x and the noise     one-dimensional, since only effect'U + noise matters
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from deconfound.design import FloatArray, IntArray, RawMatrix
from deconfound_bench.synthetic.constants import Constants

NODES = 40  # of the quadrature; at these spreads its error is far below rounding of any reported number


@dataclass(frozen=True, slots=True)
class Law:
    """The directions that every replicate shares, on standardised phi* and embedding."""

    direction: FloatArray  # (hidden,) w*
    effect: FloatArray  # (users,) how the user moves the score
    taste: FloatArray  # (users, embedding) mean of the user given the context
    route: FloatArray  # (models, embedding) logits of the context policy
    affinity: FloatArray  # (models, users) what a user's shortlist is made by
    views: FloatArray  # (labels, hidden) what each label looks at
    user_spread: float  # standard deviation of each user dimension given the context
    noise: float
    label_noise: float
    shortlist: int


def make_law(constants: Constants, models: int) -> Law:
    """Draw the directions; their lengths are the constants'."""
    rng = np.random.default_rng([constants.seed, 1])

    def unit(*shape: int) -> FloatArray:
        drawn = rng.standard_normal(shape)
        return np.asarray(drawn / np.linalg.norm(drawn, axis=-1, keepdims=True))

    return Law(
        direction=constants.signal * unit(constants.hidden),
        effect=constants.user_effect * unit(constants.users),
        taste=np.sqrt(constants.user_context) * unit(constants.users, constants.embedding),
        route=constants.router * unit(models, constants.embedding),
        affinity=unit(models, constants.users),
        views=unit(constants.labels, constants.hidden),
        user_spread=float(np.sqrt(1.0 - constants.user_context)),
        noise=constants.noise,
        label_noise=constants.label_noise,
        shortlist=constants.shortlist,
    )


def project(phi: RawMatrix, constants: Constants) -> FloatArray:
    """H phi: every column of the hashed text thrown into one of ``hidden`` coordinates with a random sign."""
    from scipy import sparse

    rng = np.random.default_rng([constants.seed, 2])
    columns = np.arange(phi.shape[1])
    place = rng.integers(constants.hidden, size=len(columns))
    sign = rng.choice([-1.0, 1.0], size=len(columns))
    return np.asarray(
        (phi @ sparse.csr_matrix((sign, (columns, place)), shape=(len(columns), constants.hidden))).todense()
    )


def true_reward(law: Law, hidden: FloatArray, embedding: FloatArray) -> FloatArray:
    """r* of rows with these phi* (n, hidden) and context embeddings (n, embedding).

    effect'U + noise is normal given the context, so Gauss-Hermite quadrature integrates both out at once.
    """
    mean = hidden @ law.direction + embedding @ (law.taste.T @ law.effect)
    spread = np.sqrt(law.user_spread**2 * float(law.effect @ law.effect) + law.noise**2)
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    total = np.zeros(len(mean))
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        total += weight * expit(mean + spread * node)
    return total


def users(law: Law, embedding: FloatArray, luck: FloatArray) -> FloatArray:
    """Latent users (n, users) of contexts with these embeddings, from standard normal luck."""
    return np.asarray(embedding @ law.taste.T + law.user_spread * luck)


def outcomes(law: Law, hidden: FloatArray, user: FloatArray, luck: FloatArray) -> FloatArray:
    """What users say of outputs, from standard normal luck (n,)."""
    return np.asarray(expit(hidden @ law.direction + user @ law.effect + law.noise * luck))


def labels(law: Law, hidden: FloatArray, luck: FloatArray) -> FloatArray:
    """Auxiliary labels (n, labels) of outputs: noisy views of phi*, whoever the user is."""
    return np.asarray(expit(hidden @ law.views.T + law.label_noise * luck))


def context_policy(law: Law, embedding: FloatArray) -> FloatArray:
    """Choice probabilities (n, models) of those who look at the context only."""
    logits = embedding @ law.route.T
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def user_policy(law: Law, user: FloatArray) -> FloatArray:
    """Choice probabilities (n, models) of those who follow their liking: uniform over a shortlist of models."""
    liked = np.argsort(-(user @ law.affinity.T), axis=1, kind="stable")[:, : law.shortlist]
    policy = np.zeros((len(user), len(law.affinity)))
    np.put_along_axis(policy, liked, 1.0 / law.shortlist, axis=1)
    return policy


def choose(policy: FloatArray, luck: FloatArray) -> IntArray:
    """One model a row from its probabilities, by inverting their running sum at uniform luck (n,)."""
    running = np.cumsum(policy, axis=1)
    chosen = (running < luck[:, None] * running[:, -1:]).sum(axis=1)
    return np.asarray(np.minimum(chosen, policy.shape[1] - 1), dtype=np.int64)
