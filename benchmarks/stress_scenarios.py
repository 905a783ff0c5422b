"""The scenarios of the stress benchmark: situations that every team has, with the truth known exactly.

Values are numbers of ``Mechanism`` and population means by construction; the other truths follow from them as stated in
``stress_generators``. The names of rows are "<models>x<rows per model>", where the rows are an average: the experiment
draws models independently and uniformly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal
from zlib import crc32

import numpy as np
from scipy.special import ndtr, ndtri

from benchmarks.stress_generators import MAX_Z, Design, Mechanism, SimulatedStudy, simulate

LOOKS = 10  # of the sequential scenario
COMMON_BIAS = 0.03  # of a helpful log: its users rate all models higher
MODEL_BIAS = 0.01  # of a helpful log, up for one model and down for the next
EDGE = 0.1  # chances of success closer to 0 or 1 are near an edge
RARE_SHARE = 0.0005  # of contexts on which the generally best model is not the best


@dataclass(frozen=True, slots=True)
class Scenario:
    """One kind of study, and what is expected of it beyond the targets that apply to all."""

    name: str
    question: str
    mechanism: Mechanism
    design: Design
    mode: Literal["once", "looks", "refusal"] = "once"
    min_worst_coverage: float = 0.93
    min_clear_share: float = 0.0

    @property
    def is_near_an_edge(self) -> bool:
        """Whether outcomes of independent rows are yes and no, and nearly always the same."""
        value = self.mechanism.value
        return self.mechanism.yes_no and not self.design.users and (max(value) <= EDGE or min(value) >= 1 - EDGE)

    def study(self, seed: int, number: int) -> SimulatedStudy:
        """Study ``number``; every scenario has its own stream of random numbers."""
        return simulate(self.mechanism, self.design, np.random.default_rng([seed, crc32(self.name.encode()), number]))


def helpful(value: tuple[float, ...], common: float = COMMON_BIAS) -> tuple[float, ...]:
    """Bias of a log that ranks the models nearly correctly."""
    return tuple(common + MODEL_BIAS * (-1) ** code for code in range(len(value)))


def inverting(value: tuple[float, ...]) -> tuple[float, ...]:
    """Bias of a log with the ranking reversed: its expected means are mean - 0.8 (value - mean)."""
    mean = float(np.mean(value))
    return tuple(-1.8 * (one - mean) for one in value)


def spread(lowest: float, highest: float, count: int) -> tuple[float, ...]:
    """Evenly spaced values, best first."""
    return tuple(np.linspace(highest, lowest, count).tolist())


def normal_values(count: int) -> tuple[float, ...]:
    """Quantiles of a normal distribution with mean 0.55 and standard deviation 0.06, best first."""
    return tuple((0.55 + 0.06 * ndtri((np.arange(count)[::-1] + 0.5) / count)).tolist())


def near_an_edge(value: tuple[float, ...], rows: int, common_bias: float) -> Scenario:
    """Yes/no outcomes with chances near 0 or 1. Slopes are small because the room to the edge is."""
    side = "high" if min(value) > 0.5 else "low"
    bias = tuple(common_bias for _ in value)
    mechanism = Mechanism(value, slope=0.002, output_effect=0.002, yes_no=True, log_bias=bias)
    question = f"six models with chances of {min(value):g} to {max(value):g}, {rows} rows each"
    return Scenario(f"bounded_{side}_{rows}", question, mechanism, Design(6 * rows))


def bounded_users(users: int, rows: int, agreement: float) -> Scenario:
    """Users who rate every model and are nearly always satisfied, or nearly never."""
    value = (0.98, 0.97, 0.96, 0.95)
    bias = (-0.01,) * len(value)
    mechanism = Mechanism(value, slope=0.002, output_effect=0.002, yes_no=True, user_agreement=agreement, log_bias=bias)
    question = f"four models with chances of 0.95 to 0.98, {users} users with {rows // users} similar answers each"
    return Scenario(f"bounded_users_{users}", question, mechanism, Design(rows, users=users))


def two_way(contexts: int, users: int, rows: int) -> Scenario:
    """Users and recurring contexts, each with effects of their own on all outcomes."""
    value = spread(0.47, 0.53, 4)
    mechanism = Mechanism(
        value,
        slope=0.02,
        hidden_context=0.05,
        hidden_by_model=(0.02,) * 4,
        user=0.05,
        output_effect=0.02,
        noise=0.4,
        log_bias=(0.01,) * 4,
    )
    design = Design(rows, recurring=contexts, users=users)
    return Scenario(f"two_way_{contexts}", f"{contexts} recurring contexts and {users} users", mechanism, design)


def few_rows(value: tuple[float, ...], rows: int, log_rows: int, log: Literal["helpful", "inverting"]) -> Scenario:
    """Many models or few rows, where the log decides."""
    bias = helpful(value) if log == "helpful" else inverting(value)
    question = f"{len(value)} models, {rows} rows each, {log} log"
    mechanism = Mechanism(value, slope=0.04, log_bias=bias)
    design = Design(len(value) * rows, log_rows=log_rows, fresh_contexts=200)
    return Scenario(f"few_{len(value)}x{rows}_{log}", question, mechanism, design)


def one_best(kind: Literal["visible", "hidden", "recurring"]) -> Scenario:
    """The first model leads by 0.15 + s w with w normal, and s such that it loses on 0.05 % of the contexts.

    w is the column feature_length, or hidden, or hidden on contexts that recur. P(w < -r) = RARE_SHARE for the
    truncated w, and s = 0.15 / r.
    """
    edge = float(ndtr(-MAX_Z))
    ratio = float(-ndtri(RARE_SHARE * (1 - 2 * edge) + edge))
    value, scale = (0.60, 0.45, 0.44, 0.43), (0.15 / ratio, 0.0, 0.0, 0.0)
    mechanism = Mechanism(
        value,
        slope=0.04,
        interaction=scale if kind == "visible" else (),
        hidden_by_model=() if kind == "visible" else scale,
        log_bias=helpful(value),
    )
    design = Design(400, log_rows=600, recurring=150) if kind == "recurring" else Design(400)
    name = "one_best" if kind == "visible" else f"one_best_{kind}"
    question = f"one model best on 99.95 % of contexts; the rest of its lead is {kind}"
    return Scenario(name, question, mechanism, design, min_clear_share=0.1)


def log_without_interaction(crossing: Mechanism, kind: Literal["absent", "reversed"]) -> Scenario:
    """Models whose different slopes only the experiment shows."""
    mechanism = replace(crossing, log_interaction=0.0 if kind == "absent" else -1.0)
    return Scenario(
        f"interaction_{kind}", f"models with different slopes, {kind} in the log, 3x160", mechanism, Design(480)
    )


def plain() -> tuple[Scenario, ...]:
    """Ordinary studies, and those in which the number of rows is what is unusual."""
    six, eight, three = spread(0.45, 0.60, 6), spread(0.40, 0.60, 8), spread(0.45, 0.55, 3)
    return (
        Scenario("baseline", "continuous outcomes, 6x30", Mechanism(six, log_bias=helpful(six)), Design(180)),
        Scenario("baseline_yes_no", "6x30", Mechanism(six, yes_no=True, log_bias=helpful(six)), Design(180)),
        Scenario("columns_only", "3x20, default options", Mechanism(three), Design(60, log_rows=200)),
        Scenario("five_rows", "8x5", Mechanism(eight, log_bias=helpful(eight)), Design(40), min_worst_coverage=0.92),
        Scenario("tiny", "eight randomized rows", Mechanism((0.5, 0.55)), Design(8, log_rows=200), mode="refusal"),
    )


def structured() -> tuple[Scenario, ...]:
    """Users, other contexts and interactions."""
    four, three = spread(0.44, 0.56, 4), (0.50, 0.51, 0.50)
    users = Mechanism(four, slope=0.03, user=0.08, noise=0.4, log_bias=(0.02,) * 4)
    shifted = Mechanism(four, slope=0.12, noise=0.4, log_bias=(0.02,) * 4)
    crossing = Mechanism(three, slope=0.04, interaction=(-0.077, 0.0, 0.077), log_bias=helpful(three))
    hidden = Mechanism(three, slope=0.04, hidden_by_model=(0.06,) * 3, log_bias=helpful(three))
    return (
        two_way(30, 200, 400),
        two_way(48, 400, 600),
        Scenario("users_uneven", "60 users of uneven size", users, Design(240, users=60, uneven_users=True)),
        Scenario(
            "user_heavy", "100 users, one with 28 % of the rows", users, Design(400, users=100, heaviest_user=0.28)
        ),
        Scenario(
            "extra_contexts",
            "200 replayed contexts more, shifted by 0.25 sd, 40 rows",
            shifted,
            Design(40, extra_contexts=200, extra_shift=0.25),
        ),
        Scenario("interaction", "models with different slopes, 3x160", crossing, Design(480)),
        *(log_without_interaction(crossing, kind) for kind in ("absent", "reversed")),
        Scenario("interaction_hidden", "context-by-model effects that no column shows, 3x160", hidden, Design(480)),
        Scenario(
            "recurring_hidden",
            "large effects by context and model that no column shows, 120 recurring contexts",
            Mechanism(three, slope=0.02, hidden_context=0.04, hidden_by_model=(0.04, 0.08, 0.06), noise=0.4),
            Design(360, log_rows=600, recurring=120),
        ),
    )


def equal_models() -> tuple[Scenario, ...]:
    """Models without any difference."""
    four, three = Mechanism((0.5,) * 4, log_bias=helpful((0.5,) * 4)), Mechanism((0.5,) * 3, log_bias=(0.03,) * 3)
    return (
        Scenario("null_models", "four equal models, 4x50", four, Design(200)),
        Scenario(
            "sequential",
            f"three equal models, {LOOKS} looks at up to 300 rows",
            three,
            Design(300, log_rows=200),
            mode="looks",
        ),
    )


def all_scenarios() -> dict[str, Scenario]:
    """Every scenario by name."""
    high, low = spread(0.95, 0.99, 6), spread(0.01, 0.05, 6)
    models = {50: normal_values(50), 12: normal_values(12), 2: (0.58, 0.50)}
    sizes = ((50, 10, 1_000), (12, 10, 600), (2, 20, 400))
    scenarios = (
        *plain(),
        *(near_an_edge(high, rows, -0.02) for rows in (20, 50, 100)),
        *(near_an_edge(low, rows, 0.02) for rows in (20, 50, 100)),
        bounded_users(40, 800, 0.7),
        bounded_users(200, 800, 0.4),
        *structured(),
        *(few_rows(models[count], rows, log_rows, "helpful") for count, rows, log_rows in sizes),
        *(few_rows(models[count], rows, log_rows, "inverting") for count, rows, log_rows in sizes),
        *(one_best(kind) for kind in ("visible", "hidden", "recurring")),
        *equal_models(),
    )
    return {scenario.name: scenario for scenario in scenarios}
