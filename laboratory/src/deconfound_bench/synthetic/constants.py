"""Every constant of the controlled validation. They are stored with each result, so field names are a file format."""

from __future__ import annotations

from dataclasses import dataclass, replace

from deconfound_bench.results import Cell

CONFOUNDINGS = (0.0, 0.2, 0.5, 0.8, 0.9, 0.99)
LOG_ROWS = (2_000, 20_000)
EXPERIMENT_ROWS = (20, 100)
TARGETED_ROWS = (400, 800, 1_600, 3_200)
TARGETED_CONFOUNDING = 0.99
CORPUS_VERSION = 1  # of the built-in articles and summarizers; increase it whenever either produces other texts


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many contexts and outputs the pool contains."""

    contexts: int = 80  # from which log and experiment are drawn
    truth: int = 100  # held out; the models' true values are means over them
    evaluation: int = 100  # held out; regret and direct values are means over them
    embedding: int = 5_000  # contexts that the embedding is fitted on, or fewer if there are not that many
    train_draws: int = 2  # outputs of a stochastic summarizer on each context of log and experiment
    draws: int = 5  # outputs of a stochastic summarizer on each held-out context


@dataclass(frozen=True, slots=True)
class Constants:
    """The data-generating process. Scores are on the logit scale, where an outcome of one half is zero."""

    sizes: Sizes = Sizes()
    seed: int = 0  # of everything that replications share: texts, projections, weight vectors
    buckets: int = 2**18  # of the hashed text
    hidden: int = 8  # dimensions of the latent features phi*
    terms: int = 50_000  # of the TF-IDF vocabulary
    embedding: int = 50  # dimensions of psi_X
    proxies: int = 20  # dimensions of psi
    labels: int = 24
    users: int = 4  # dimensions of the latent user
    signal: float = 1.0  # length of w* over standardized phi*
    user_effect: float = 0.5  # length of the weight vector of the user
    user_context: float = 0.3  # share of the user's variance explained by the context
    noise: float = 0.25  # standard deviation of the residual noise in the score
    label_noise: float = 1.0
    router: float = 1.0  # length of each model's logit vector over the standardized embedding
    shortlist: int = 5  # models among which a user chooses
    longest_log: int = 20_000  # rows of the largest log; smaller logs and experiments are the start of the largest
    longest_experiment: int = 100


GRID = Constants()
QUICK = Constants(
    sizes=Sizes(contexts=24, truth=16, evaluation=16, embedding=200, draws=2),
    embedding=20,
    proxies=8,
    longest_log=1_000,
)
TARGETED = replace(GRID, user_effect=1.0, shortlist=1, noise=0.05, longest_experiment=TARGETED_ROWS[-1])
"""Users matter as much as outputs and always choose their favourite model; there is little other noise."""

UNDERFIT_REWARD = "underfit"  # value of the reward column in the targeted regime
UNDERFIT_PENALTY = 0.1
"""Penalty per row of the deliberately underfitted rewards: ten times the largest that tuning considers on the grid."""


def grid_cells() -> tuple[Cell, ...]:
    """Confounding x log rows x experiment rows."""
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
    """Growing experiments beside one strongly self-selected log."""
    return tuple(Cell(TARGETED_CONFOUNDING, LOG_ROWS[-1], rows, UNDERFIT_REWARD) for rows in TARGETED_ROWS)
