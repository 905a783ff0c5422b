"""Every number of the controlled validation, frozen and written into each result."""

from __future__ import annotations

from dataclasses import dataclass, replace

from deconfound_bench.results import Cell

CONFOUNDINGS = (0.0, 0.2, 0.5, 0.8, 0.9, 0.99)
LOG_ROWS = (2_000, 20_000)
EXPERIMENT_ROWS = (20, 100)
TARGETED_ROWS = (400, 800, 1_600, 3_200)
TARGETED_CONFOUNDING = 0.99
EDITION = 1  # of the built-in articles and systems; raised whenever either writes other texts


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much text the pool holds."""

    contexts: int = 80  # that log and experiment draw from
    truth: int = 100  # held out; the models' true values are means over them
    evaluation: int = 100  # held out; regret and direct values are means over them
    embedding: int = 5_000  # contexts that the embedding is learned from, as far as there are so many
    kept_draws: int = 2  # of a random system on each context of the log
    draws: int = 5  # on each held-out context


@dataclass(frozen=True, slots=True)
class Constants:
    """The latent law. Scores are on the logit scale, where an outcome of one half is zero."""

    sizes: Sizes = Sizes()
    seed: int = 0  # of everything that replicates share: texts, projections, directions
    buckets: int = 2**18  # of the hashed text
    hidden: int = 8  # dimensions of phi*
    terms: int = 50_000  # of the TF-IDF vocabulary
    embedding: int = 50  # dimensions of psi_X
    proxies: int = 20  # dimensions of psi
    labels: int = 24
    users: int = 4  # dimensions of the latent user
    signal: float = 1.0  # length of w* over standardised phi*
    user_effect: float = 0.5  # length of the vector by which the user moves the score
    user_context: float = 0.3  # share of the user's variance that the context explains
    noise: float = 0.25  # standard deviation of what moves the score besides
    label_noise: float = 1.0
    router: float = 1.0  # length of each model's logit vector over the standardised embedding
    shortlist: int = 5  # models that a user chooses from
    longest_log: int = 20_000  # shorter logs and experiments are the start of the longest
    longest_experiment: int = 100


GRID = Constants()
QUICK = Constants(
    sizes=Sizes(contexts=24, truth=16, evaluation=16, embedding=200, draws=2),
    embedding=20,
    proxies=8,
    longest_log=1_000,
)
TARGETED = replace(GRID, user_effect=1.0, shortlist=1, noise=0.05, longest_experiment=TARGETED_ROWS[-1])
"""Users matter as much as outputs and take what they like best; little noise besides."""

UNDERFITTED = "underfit"  # the reward column of the targeted regime
UNDERFIT = 0.1
"""Penalty of the deliberately underfitted rewards, per row: ten times the largest that tuning considers on the grid."""


def grid_cells() -> tuple[Cell, ...]:
    """Confounding by log rows by experiment rows."""
    return tuple(
        Cell(confounding, log, experiment, "latent")
        for confounding in CONFOUNDINGS
        for log in LOG_ROWS
        for experiment in EXPERIMENT_ROWS
    )


def quick_cells() -> tuple[Cell, ...]:
    """The corners of a small grid."""
    return tuple(
        Cell(confounding, log, experiment, "latent")
        for confounding in (0.0, 0.9)
        for log in (200, 1_000)
        for experiment in EXPERIMENT_ROWS
    )


def targeted_cells() -> tuple[Cell, ...]:
    """A growing experiment beside one strongly self-selected log."""
    return tuple(Cell(TARGETED_CONFOUNDING, LOG_ROWS[-1], rows, UNDERFITTED) for rows in TARGETED_ROWS)
