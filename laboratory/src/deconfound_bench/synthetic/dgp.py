"""The data-generating process (DGP) of the controlled validation: users, outcomes, labels and choices of models.

phi*(x, m) = H phi(x, m)                       H adds each hashed column to one of a few coordinates, with a sign
U | X = x  ~ N( mean(x), (1 - share) I )       mean(x) is linear in the embedding of the context
Y          = sigmoid( w*'phi* + user_weights'U + noise )
r*(x, m)   = E over U | x and the noise        one-dimensional, since only user_weights'U + noise matters
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from deconfound.design import FloatArray, IntArray, RawMatrix
from deconfound_bench.synthetic.constants import Constants

QUADRATURE_NODES = 40  # the quadrature error is then far below the rounding of any reported number


@dataclass(frozen=True, slots=True)
class DataGeneratingProcess:
    """The weights that all replications share, on standardized phi* and embedding."""

    outcome_weights: FloatArray  # (latent,) w*
    user_weights: FloatArray  # (users,) effect of the user on the score
    user_mean: FloatArray  # (users, embedding) mean of the user given the context
    router_weights: FloatArray  # (models, embedding) logits of the context policy
    affinity: FloatArray  # (models, users) determines a user's shortlist
    label_weights: FloatArray  # (labels, latent)
    user_sd: float  # standard deviation of each user dimension given the context
    noise: float
    label_noise: float
    shortlist: int


def draw_dgp(constants: Constants, models: int) -> DataGeneratingProcess:
    """Draw the directions of all weight vectors; their lengths are constants."""
    rng = np.random.default_rng([constants.seed, 1])

    def unit_vectors(*shape: int) -> FloatArray:
        normal = rng.standard_normal(shape)
        return np.asarray(normal / np.linalg.norm(normal, axis=-1, keepdims=True))

    return DataGeneratingProcess(
        outcome_weights=constants.signal * unit_vectors(constants.hidden),
        user_weights=constants.user_effect * unit_vectors(constants.users),
        user_mean=np.sqrt(constants.user_context) * unit_vectors(constants.users, constants.embedding),
        router_weights=constants.router * unit_vectors(models, constants.embedding),
        affinity=unit_vectors(models, constants.users),
        label_weights=unit_vectors(constants.labels, constants.hidden),
        user_sd=float(np.sqrt(1.0 - constants.user_context)),
        noise=constants.noise,
        label_noise=constants.label_noise,
        shortlist=constants.shortlist,
    )


def project_to_latent(phi: RawMatrix, constants: Constants) -> FloatArray:
    """H phi: every column of the hashed text is added to one of the latent coordinates, with a random sign."""
    from scipy import sparse

    rng = np.random.default_rng([constants.seed, 2])
    columns = np.arange(phi.shape[1])
    coordinate = rng.integers(constants.hidden, size=len(columns))
    sign = rng.choice([-1.0, 1.0], size=len(columns))
    projection = sparse.csr_matrix((sign, (columns, coordinate)), shape=(len(columns), constants.hidden))
    return np.asarray((phi @ projection).todense())


def true_reward(dgp: DataGeneratingProcess, latent: FloatArray, embedding: FloatArray) -> FloatArray:
    """r* of rows with these phi* (n, latent) and context embeddings (n, embedding).

    Given the context, user_weights'U + noise is normal, so one Gauss-Hermite quadrature integrates over both.
    """
    mean = latent @ dgp.outcome_weights + embedding @ (dgp.user_mean.T @ dgp.user_weights)
    sd = np.sqrt(dgp.user_sd**2 * float(dgp.user_weights @ dgp.user_weights) + dgp.noise**2)
    nodes, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE_NODES)
    total = np.zeros(len(mean))
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        total += weight * expit(mean + sd * node)
    return total


def latent_users(dgp: DataGeneratingProcess, embedding: FloatArray, noise: FloatArray) -> FloatArray:
    """Latent users (n, users) of contexts with these embeddings, from standard normal noise (n, users)."""
    return np.asarray(embedding @ dgp.user_mean.T + dgp.user_sd * noise)


def outcomes(dgp: DataGeneratingProcess, latent: FloatArray, user: FloatArray, noise: FloatArray) -> FloatArray:
    """Outcomes (n,) of these outputs for these users, from standard normal noise (n,)."""
    return np.asarray(expit(latent @ dgp.outcome_weights + user @ dgp.user_weights + dgp.noise * noise))


def labels(dgp: DataGeneratingProcess, latent: FloatArray, noise: FloatArray) -> FloatArray:
    """Auxiliary labels (n, labels) of outputs: noisy functions of phi* that do not depend on the user."""
    return np.asarray(expit(latent @ dgp.label_weights.T + dgp.label_noise * noise))


def context_policy(dgp: DataGeneratingProcess, embedding: FloatArray) -> FloatArray:
    """Choice probabilities (n, models) that depend on the context only."""
    logits = embedding @ dgp.router_weights.T
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def user_policy(dgp: DataGeneratingProcess, user: FloatArray) -> FloatArray:
    """Choice probabilities (n, models) of self-selecting users: uniform over the models they have most affinity for."""
    favourites = np.argsort(-(user @ dgp.affinity.T), axis=1, kind="stable")[:, : dgp.shortlist]
    policy = np.zeros((len(user), len(dgp.affinity)))
    np.put_along_axis(policy, favourites, 1.0 / dgp.shortlist, axis=1)
    return policy


def choose_models(policy: FloatArray, uniform: FloatArray) -> IntArray:
    """One model per row of probabilities, by inverting the cumulative probabilities at uniform numbers (n,)."""
    cumulative = np.cumsum(policy, axis=1)
    chosen = (cumulative < uniform[:, None] * cumulative[:, -1:]).sum(axis=1)
    return np.asarray(np.minimum(chosen, policy.shape[1] - 1), dtype=np.int64)
