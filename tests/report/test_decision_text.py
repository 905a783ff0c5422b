"""Log bias and routing in plain English: one example per verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deconfound.decide.routing import RoutingGain
from deconfound.report.decision_text import log_bias_text, routing_text
from deconfound.report.scale import UNIT, Scale
from deconfound.value import LogBias, ModelBias

BIAS = LogBias(
    biases=(ModelBias("maple", 0.2, 0.1, 0.36), ModelBias("cedar", -0.2, -0.3, -0.1), ModelBias("oak", 0.0, -0.1, 0.1)),
    overrated=("maple",),
    underrated=("cedar",),
    log_best_model="maple",
    best_set=("cedar",),
    rms_bias=0.124,
    rms_relative_bias=0.12,
    max_bias_bound=0.36,
    level=0.95,
    verdict="misleading",
)

ROUTING = RoutingGain(
    models=("cedar", "oak"),
    value=0.8,
    value_low=0.7,
    value_high=0.9,
    best="cedar",
    gain=0.05,
    gain_low=0.01,
    gain_high=0.09,
    gain_bound=0.005,
    achievable_gain_bound=0.2,
    plug_in_gain=0.1,
    model_shares=(0.6, 0.4),
    best_model_share=0.6,
    on_policy_rows=40,
    min_gain=0.01,
    level=0.95,
    verdict="route",
)


def test_a_misleading_log_is_described_with_its_first_model_and_the_errors():
    assert log_bias_text(BIAS, UNIT) == (
        'The log ranks "maple" first, but maple is not the best model. The log overrates maple; it underrates cedar. '
        "Its averages are typically off by 0.12; that of a single model may be off by up to 0.36."
    )
    without_names = replace(BIAS, overrated=(), underrated=())
    assert log_bias_text(without_names, UNIT) == (
        'The log ranks "maple" first, but maple is not the best model. '
        "Its averages are typically off by 0.12; that of a single model may be off by up to 0.36."
    )


def test_a_biased_log_may_still_rank_the_best_model_first():
    biased = replace(BIAS, verdict="biased", underrated=(), best_set=("cedar", "maple"))
    assert log_bias_text(biased, UNIT) == (
        'The log overrates maple. The log ranks "maple" first, this evaluation "cedar"; the data do not show which of '
        "them is better. "
        "Its averages are typically off by 0.12; that of a single model may be off by up to 0.36."
    )


def test_a_log_that_ranks_the_same_model_first_is_said_to():
    same = replace(BIAS, verdict="biased", best_set=("maple", "cedar"))
    assert 'The log\'s first model, "maple", is also first here.' in log_bias_text(same, UNIT)


def test_a_model_that_only_the_log_has_a_value_for_does_not_confirm_the_log():
    unknown = (replace(BIAS.biases[0], estimate=np.nan), *BIAS.biases[1:])
    same = replace(BIAS, verdict="biased", best_set=("maple", "cedar"), biases=unknown)
    assert "first here" not in log_bias_text(same, UNIT)


def test_no_detected_bias_comes_with_its_bound():
    unbiased = replace(BIAS, verdict="no bias shown", overrated=(), underrated=(), rms_bias=0.0)
    undetected = (
        "No bias of the log's averages was detected at 95 % confidence, "
        "but that of a single model may be off by up to 0.36."
    )
    other = replace(unbiased, best_set=("cedar", "maple"))
    same = log_bias_text(replace(unbiased, best_set=("maple",)), UNIT)
    assert same == f'{undetected} The log\'s first model, "maple", is also first here.'
    assert log_bias_text(other, UNIT) == (
        f'{undetected} The log ranks "maple" first, this evaluation "cedar"; '
        "the data do not show which of them is better."
    )


def test_models_without_an_estimate_are_named():
    missing = (BIAS.biases[0], replace(BIAS.biases[1], estimate=np.nan), BIAS.biases[2])
    assert log_bias_text(replace(BIAS, biases=missing), UNIT).endswith(" No bias could be estimated for cedar.")
    inconclusive = replace(BIAS, biases=missing, verdict="cannot tell")
    assert log_bias_text(inconclusive, UNIT) == (
        "The bias of the log cannot be estimated: no model has enough rows in both log and experiment."
    )


def test_each_routing_verdict_has_its_sentence():
    assert routing_text(ROUTING, UNIT) == (
        'Routing pays: it gains +0.050 over always using "cedar" (95 % interval +0.010 to +0.090).'
    )
    assert routing_text(replace(ROUTING, verdict="one model"), UNIT) == (
        'Use "cedar" everywhere: no routing can gain 0.01 or more (95 % confidence).'
    )
    inconclusive = replace(ROUTING, verdict="cannot tell")
    assert routing_text(inconclusive, UNIT) == (
        'Routing may pay: it gains +0.050 over always using "cedar" (95 % interval +0.010 to +0.090), but not '
        "significantly over every single model."
    )
    assert routing_text(replace(inconclusive, gain_low=-0.01), UNIT) == (
        'No evidence that routing by these recommendations pays: their gain over always using "cedar" lies between '
        "-0.010 and +0.090 (95 % confidence). No routing can gain more than +0.200 (95 % confidence)."
    )
    unlimited = replace(inconclusive, gain_low=-0.01, achievable_gain_bound=1.0)
    assert routing_text(unlimited, UNIT).endswith("lies between -0.010 and +0.090 (95 % confidence).")
    same = replace(inconclusive, gain=0.0, gain_low=-0.02, gain_high=0.02)
    assert routing_text(same, UNIT) == (
        "No evidence that routing pays: the recommendations do not differ from one model for all. No routing can gain "
        "more than +0.200 (95 % confidence)."
    )
    for few in (replace(inconclusive, on_policy_rows=1), replace(inconclusive, on_policy_rows=1, gain=np.nan)):
        assert routing_text(few, UNIT) == (
            "No evidence on routing: 1 experiment row used the model that routing would choose. Randomize more "
            "contexts."
        )
    assert routing_text(replace(inconclusive, gain=np.nan), UNIT) == (
        'No evidence on routing: in cross-validation it chose another model than "cedar" for 40.0 % of the rows, too '
        "few to show the difference. Randomize more contexts."
    )


def test_names_with_control_characters_stay_on_one_line():
    name = "a\nb"
    biased = replace(BIAS, overrated=(name,), log_best_model=name, biases=(ModelBias(name, np.nan, -1.0, 1.0),))
    routing = replace(ROUTING, models=(name, "oak"), best=name)
    for text in (log_bias_text(biased), routing_text(routing)):
        assert "\n" not in text
        assert r"a\nb" in text


def test_biases_and_gains_are_printed_on_the_users_scale():
    stars = Scale(1.0, 5.0, "of 5 stars")
    assert "typically off by 0.50 stars; that of a single model may be off by up to 1.44 stars" in log_bias_text(
        BIAS, stars
    )
    assert "gains +0.20 stars over" in routing_text(ROUTING, stars)
    assert "(95 % interval +0.04 to +0.36 stars)" in routing_text(ROUTING, stars)
    assert "can gain 0.04 stars or more" in routing_text(replace(ROUTING, verdict="one model"), stars)


def test_with_costs_the_log_is_judged_before_cost():
    """The model that the log ranks first may well be the best net of cost."""
    assert "maple is not the best model before cost." in log_bias_text(BIAS, before_cost=True)
    biased = log_bias_text(replace(BIAS, verdict="biased"), before_cost=True)
    assert 'this evaluation "cedar" before cost; the data' in biased


def test_without_a_scale_the_text_names_its_own():
    """``result.log_bias.summary`` and ``result.routing.summary`` do not know that of the tables."""
    note = "Numbers are on a scale from 0 to 1."
    assert log_bias_text(BIAS) == f"{log_bias_text(BIAS, UNIT)} {note}"
    assert routing_text(ROUTING) == f"{routing_text(ROUTING, UNIT)} {note}"
    few = replace(ROUTING, verdict="cannot tell", on_policy_rows=1)
    for text in (log_bias_text(replace(BIAS, verdict="cannot tell")), routing_text(few)):
        assert note not in text
