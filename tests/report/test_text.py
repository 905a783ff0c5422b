"""A result as text: the answer first, and sentences that follow the fields."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import deconfound as dc
from deconfound.diagnose.outcome_drift import OutcomeDrift
from deconfound.findings import LONG_LOG, Finding, Notice
from deconfound.formatting import TERMINAL_WIDTH
from deconfound.report.answer import FIRST_BUT_FAILED, Answer
from deconfound.report.attribution_text import NEGLIGIBLE_LOG_BIAS, attribution_paragraph
from deconfound.report.check_text import false_alarm_note
from deconfound.report.decision_text import SMALL_DIFFERENCES, log_bias_text, routing_text
from deconfound.report.scale import UNIT
from deconfound.report.scope_text import ONE_LOOK
from deconfound.report.text import (
    MAX_LISTED_PAIRS,
    METHOD,
    answer_lines,
    comparison,
    format_ranges,
    sections,
    summary,
    value_rows,
)
from deconfound.value import Values
from deconfound.value.population import Population
from tests.support.results import demo_result
from tests.support.segmented import segmented_result
from tests.support.snapshots import assert_words_match_snapshot

FAILED = Finding("replay fidelity", "fail", Notice("Outputs differ.", "Replay again."), "A2", 9.0, 0.0001, 0.001)
FAILURE = "Assumption check failed: A2 (replay fidelity)."
HOSTILE = "\x1b[31m"


@pytest.fixture(scope="module")
def result() -> dc.Result:
    return demo_result()


def with_values(result: dc.Result, estimate: list[float], standard_error: float) -> dc.Result:
    """The result with other values, all with one standard error."""
    models, covariance = result.models, standard_error**2 * np.eye(len(result.models))
    return replace(result, values=Values(models, np.array(estimate), covariance, "by hand"))


def lines(result: dc.Result, heading: str, *, verbose: bool = False) -> list[str]:
    """The lines of one section; none if there is no such section."""
    return next((section.lines for section in sections(result, verbose=verbose) if section.heading == heading), [])


def test_clear_contexts_name_the_assumption_behind_them(result):
    clear = tuple(replace(row, verdict="clear") for row in result.recommendations)
    between = replace(result.policy.calibration.context_variance, estimated=True)
    calibration = replace(result.policy.calibration, context_variance=between)
    estimated = replace(result, recommendations=clear, policy=replace(result.policy, calibration=calibration))
    assert not any(SMALL_DIFFERENCES in line for line in lines(estimated, "Routing"))
    assumed = replace(result, recommendations=clear)
    assert any(SMALL_DIFFERENCES in line for line in lines(assumed, "Routing"))
    unclear = replace(assumed, recommendations=result.recommendations)
    assert all(row.verdict == "cannot tell" for row in result.recommendations)
    assert not any(SMALL_DIFFERENCES in line for line in lines(unclear, "Routing"))


def test_the_summary_matches_its_snapshot(result):
    """With and without how it was computed, and several families side by side."""
    texts = [result.summary(), result.summary(verbose=True), comparison([result, demo_result("exp-only")])]
    text = "\n----\n\n".join(texts)
    assert max(map(len, text.splitlines())) <= TERMINAL_WIDTH
    assert_words_match_snapshot(text, "summary")


def test_the_gain_of_log_and_replay_is_one_line_where_there_is_one(result):
    """Variances fall with one over the rows: 20 % wider standard errors are 44 % more rows."""
    estimate, alone = [0.5] * 6, replace(result, experiment=with_values(result, [0.5] * 6, 0.06).values)
    for verbose in (False, True):
        text = summary(with_values(alone, estimate, 0.05), verbose=verbose)
        assert text.count("Log and replay are worth 44 % more randomized rows.\n") == 1
    for standard_error in (0.05999, 0.06, 0.07):
        assert "Log and replay do not narrow the intervals here" in summary(
            with_values(alone, estimate, standard_error)
        )
    for standard_error in (np.nan, 0.0):
        assert "Log and replay" not in summary(with_values(alone, estimate, standard_error))


def test_routing_that_pays_names_the_models_of_all_contexts(result):
    """One clear context of many does not hide what is recommended on the others."""
    first, *others = result.recommendations
    rows = (replace(first, verdict="clear"), *(replace(row, verdict="cannot tell") for row in others))
    pays = replace(result, recommendations=rows, routing=replace(result.routing, gain=0.1, verdict="route"))
    text = " ".join(summary(pays).split())
    counts = Counter(row.model for row in rows)
    assert f"1 of {len(rows)} replayed contexts have a clear best model" in text
    assert f"Most likely best on all of them: {counts.most_common()[0][0]} ({counts.most_common()[0][1]:,})" in text
    assert "On average, routing pays." in text


def test_the_first_line_has_the_best_model_with_its_value_and_interval(result):
    separated = with_values(result, [0.2, 0.3, 0.9, 0.4, 0.5, 0.6], 0.001)
    for each, place in ((result, 1), (separated, 0)):  # the second sentence, where several may be the best
        row = each.values.table()[0]
        first = answer_lines(each)[place]
        for part in (row["model"], f"{row['estimate']:.3f}", f"{row['low']:.3f} to {row['high']:.3f}"):
            assert part in first
        assert first == each.summary().splitlines()[place]


def test_rivals_of_the_best_model_are_named(result):
    first, _, third, *_ = answer_lines(result)
    rivals = [name for name in result.values.best_set() if name != result.values.ranking()[0]]
    assert first == f"No clear winner at 95 % confidence: cedar or {len(rivals)} other models may be the best."
    assert third == f"At 95 % confidence, the best model may also be {', '.join(rivals)}."
    separated = with_values(result, [0.2, 0.3, 0.9, 0.4, 0.5, 0.6], 0.001)
    assert answer_lines(separated)[0].startswith(f"Best model: {result.models[2]}, ")
    assert not any("may also be" in line for line in answer_lines(separated))
    assert answer_lines(separated)[1] == "At 95 % confidence, no other model can be the best."


def test_few_candidates_are_named_at_once(result):
    """The headline of a tie is not that of a winner, and no second sentence repeats the names."""
    answer = Answer.from_result(with_values(result, [0.2, 0.3, 0.9, 0.4, 0.5, 0.89], 0.02))
    assert answer.model == "No clear winner at 95 % confidence: cedar or oak may be the best."
    assert answer.value.startswith("Highest estimate: cedar, value 0.900 (95 % interval ")
    assert answer.separation == ""


def test_a_failed_check_makes_every_statement_conditional(result):
    """Also those about the log, pairs and routing; the segments' are in their own tests."""
    broken = replace(result, findings=(*result.findings, FAILED))
    answer = Answer.from_result(broken)
    for sentence in (answer.separation, answer.lead, answer.routing, answer.log):
        assert sentence.startswith("If the assumption held")
    for heading in ("Comparisons", "Routing"):
        assert lines(broken, heading)[0] == "Not reliable while a check fails."
        assert "Not reliable while a check fails." not in lines(result, heading)


def test_two_models_are_one_pair(result):
    """Nothing is adjusted for comparing all pairs where there is one."""
    pair = segmented_result()
    assert len(pair.models) == 2
    assert "adjusted" in Answer.from_result(result).lead
    assert "interval" in Answer.from_result(pair).lead
    assert "adjusted" not in Answer.from_result(pair).lead


def test_a_model_without_evidence_of_its_own_does_not_lead(result):
    """The experiment has one row of the model that log and replay rank first: no interval, and no "leading model"."""
    covariance = 0.01 * np.eye(6)
    covariance[2, 2] = np.inf
    values = replace(with_values(result, [0.2, 0.3, 0.9, 0.4, 0.5, 0.6], 0.1).values, covariance=covariance)
    first, second, *_ = answer_lines(replace(result, values=values))
    assert first.startswith(f"First by log and replay alone: {result.models[2]}, value 0.900.")
    _, _, _, interval, _, bias, _ = value_rows(replace(result, values=values))[1]
    assert (interval, bias) == ("none", "none")
    assert result.models[5] in second


def test_equal_values_have_no_leader(result):
    first, *rest = answer_lines(with_values(result, [1.0, 1.0, 1.0 - 1e-15, 1.0, 1.0, 1.0], 0.01))
    assert first == "No model leads: all have the value 1.000."
    assert not any("may also be" in line for line in rest)


def test_a_failed_check_comes_before_the_answer(result):
    broken = replace(result, findings=(*result.findings, FAILED))
    assert answer_lines(broken)[0] == FAILURE
    assert answer_lines(broken)[1] == FAILED.message
    assert answer_lines(broken)[3] == answer_lines(result)[1].replace("Highest estimate", FIRST_BUT_FAILED)
    assert comparison([broken]).splitlines()[0] == FAILURE
    assert "failed" not in result.summary()
    assert "failed" not in comparison([result])


def test_warnings_are_listed_with_remedies_and_inconclusive_checks_counted(result):
    notice = Finding("columns", "warn", Notice("A column was renamed.", "Check it."))
    unclear = Finding("sample ratio", "cannot tell", Notice("Too few rows."), "A1")
    passed = Finding("label leakage", "pass", Notice("No leak."))
    listed = lines(replace(result, findings=(passed, notice, unclear)), "Warnings")
    assert listed[0] == "warn: A column was renamed. Check it."
    assert listed[1] == "1 check was inconclusive; `deconfound check` lists what it needs."
    assert len(listed) == 2
    listed = lines(replace(result, findings=(FAILED,)), "Warnings")
    assert listed == ["fail (A2): Outputs differ. Replay again.", false_alarm_note(0.95)]
    without = replace(result, findings=(passed,))
    assert lines(without, "Warnings") == []
    assert lines(without, "Assumption checks") == ["No warnings."]


def test_log_bias_and_routing_sentences_are_part_of_the_text(result):
    assert log_bias_text(result.log_bias, UNIT) in answer_lines(result)
    assert routing_text(result.routing, UNIT) in lines(result, "Routing")


def test_the_explanation_of_the_log_bias_is_part_of_the_verbose_text(result):
    """The demo's log is confounded through the choice of the model."""
    attribution = result.attribution
    assert attribution.log_bias_sd > NEGLIGIBLE_LOG_BIAS
    assert attribution.variance_components.bias_model > attribution.variance_components.bias_proxies
    paragraph = attribution_paragraph(attribution).split("\n")
    assert set(paragraph) < set(lines(result, METHOD, verbose=True))
    assert lines(result, METHOD) == []


def test_with_costs_everything_but_the_log_is_net(result):
    """The cost makes the first model the last."""
    first = result.values.ranking()[0]
    cost = np.array([0.9 if name == first else 0.1 for name in result.models])
    net = replace(result, values=result.values.net_of(cost))
    assert first not in answer_lines(net)[0]
    assert "net of cost" in answer_lines(net)[1]
    assert "before cost" in answer_lines(net)[-1]
    heading, *rows = value_rows(net)
    assert heading[2:6] == ("net value", "95 % interval", "cost", "gross value")
    gross = result.values.table()[0]
    last, low = rows[-1], net.values.interval()[result.models.index(first), 0]
    assert last[1:3] == (first, f"{gross['estimate'] - 0.9:.3f}")
    assert last[3].startswith(f"{low:.3f} to ")
    assert low < 0
    assert last[4:6] == ("0.900", f"{gross['estimate']:.3f}")
    assert last[7] == value_rows(result)[1][5]
    assert max(map(len, net.summary().splitlines())) <= TERMINAL_WIDTH
    assert "net of cost" in comparison([net])
    assert "cost" not in result.summary(verbose=True)


def test_the_contexts_are_named_where_they_are_not_the_experiments(result):
    population = result.population
    assert population.kind == "experiment"
    target = Population("target", "target.csv", 400, 360, 142.4, 0)
    line, log = (each for each in answer_lines(replace(result, population=target)) if "context" in each)
    assert line == (
        "Values are for the 400 contexts of target.csv; after weighting, the 360 experiment rows count as 142."
    )
    assert log.endswith("This compares the log with the experiment's own contexts, not with the target's.")
    own = result.counts.experiment.contexts
    mixed = Population("experiment and extra contexts", "replay.csv", own + 50, 360, 360.0, 0)
    assert f"Values are for the experiment's {own} contexts and 50 other replayed ones (--extra-contexts)." in (
        answer_lines(replace(result, population=mixed))
    )
    assert not any("contexts" in each for each in answer_lines(result))


def test_unused_contexts_are_a_remark_in_the_verbose_text(result):
    unused = replace(result, population=replace(result.population, unused_extra_contexts=230))
    assert "--extra-contexts" not in unused.summary()
    assert any(each.startswith("230 contexts were replayed") for each in lines(unused, METHOD, verbose=True))
    assert "--extra-contexts" not in result.summary(verbose=True)


def test_the_verbose_text_says_that_intervals_are_for_one_look(result):
    assert ONE_LOOK in lines(result, METHOD, verbose=True)


def test_few_unseparated_pairs_are_named_and_many_listed_by_rank(result):
    separated = with_values(result, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 0.001)
    assert len(lines(separated, "Comparisons")) == 1
    a, b = result.models[4:]
    tied = with_values(result, [0.1, 0.2, 0.3, 0.4, 0.5, 0.501], 0.001)
    assert lines(tied, "Comparisons") == [f"No clear difference at 95 % confidence: {b} and {a}."]
    equal = with_values(result, [0.45, 0.46, 0.47, 0.48, 0.49, 0.5], 0.1)
    assert len(equal.contrasts()) > MAX_LISTED_PAIRS
    listed = lines(equal, "Comparisons")
    assert [line.strip() for line in listed[1:]] == [
        "1 and 2 to 6",
        "2 and 3 to 6",
        "3 and 4 to 6",
        "4 and 5 to 6",
        "5 and 6",
    ]


def test_a_best_model_whose_lead_no_comparison_of_pairs_confirms_is_said_to_be_so(result):
    """A lead of 2.7 standard errors of the difference: beyond 2.2 of five rivals, one-sided, not 2.85 of 15 pairs."""
    close = with_values(result, [0.1, 0.2, 0.3, 0.4, 0.5, 0.5 + 2.7 * np.sqrt(2) * 0.01], 0.01)
    assert close.values.best_set() == (result.models[5],)
    (line,) = lines(close, "Comparisons")
    assert line == (
        f"{result.models[5]} is the best model by a test of that question alone; in a comparison of all pairs its lead "
        f"over {result.models[4]} is not significant."
    )


def test_a_model_that_was_only_replayed_is_no_candidate_for_the_best(result):
    covariance = 1e-6 * np.eye(6)
    covariance[0, 0] = np.inf
    values = replace(with_values(result, [0.1, 0.2, 0.3, 0.4, 0.5, 0.9], 0.001).values, covariance=covariance)
    first, second, third, *_ = answer_lines(replace(result, values=values))
    assert first == f"No clear winner at 95 % confidence: {result.models[5]} or {result.models[0]} may be the best."
    assert second.startswith(f"Highest estimate: {result.models[5]}, ")
    others = ",".join(result.models[1:])
    assert third == (
        f"Too few randomized rows to judge {result.models[0]}: randomize some, or leave them out with "
        f"--models {others}."
    )


def test_routing_that_pays_is_part_of_the_answer(result):
    pays = replace(result, routing=replace(result.routing, gain=0.1, verdict="route"))
    assert any(line.startswith("Routing pays: ") for line in answer_lines(pays))
    assert not any("Routing pays: " in line for line in lines(pays, "Routing"))
    assert not any("Routing" in line for line in answer_lines(result))


def test_the_table_has_one_row_per_model_best_first(result):
    heading, *rows = value_rows(result)
    assert [row[1] for row in rows] == list(result.values.ranking())
    assert {len(row) for row in rows} == {len(heading)}
    i = result.models.index(rows[0][1])
    assert rows[0][2] == f"{result.values.estimate[i]:.3f}"
    assert rows[0][4] == f"{result.raw_log.estimate[i]:.3f}"
    assert rows[0][5] == f"{result.raw_log.estimate[i] - result.values.estimate[i]:+.3f}"
    assert rows[0][6].startswith(f"{result.experiment.estimate[i]:.3f} ± ")


def test_a_model_without_log_or_experiment_rows_has_no_number_there(result):
    first = result.models.index(result.values.ranking()[0])

    def without_first(values: Values) -> Values:
        estimate = values.estimate.copy()
        estimate[first] = np.nan
        return replace(values, estimate=estimate)

    bare = replace(result, raw_log=without_first(result.raw_log), experiment=without_first(result.experiment))
    assert value_rows(bare)[1][4:] == ("–", "–", "none")


def test_control_characters_in_names_are_escaped(result):
    names = tuple(HOSTILE + name for name in result.models)
    values = {each: replace(getattr(result, each), models=names) for each in ("values", "experiment", "raw_log")}
    rows = tuple(replace(row, model=HOSTILE + row.model) for row in result.recommendations)
    hostile = replace(result, recommendations=rows, **values)
    for text in (summary(hostile, verbose=True), comparison([hostile])):
        assert "\x1b" not in text
        assert "\\x1b[31mcedar" in text


def test_families_are_compared_by_their_values_and_best_models(result):
    other = demo_result("exp-only")
    heading, *rows = comparison([result, other]).splitlines()
    assert heading.split() == ["model", "auto", "exp-only"]
    assert rows[len(result.models)].split() == ["best", result.values.ranking()[0], other.values.ranking()[0]]


def test_a_comparison_says_once_how_each_family_used_a_long_log(result):
    def noted(message):
        return replace(result, findings=(*result.findings, Finding(LONG_LOG, "pass", Notice(message))))

    lines = comparison([noted("Every row."), noted("Every row."), noted("A sample.")]).splitlines()
    assert lines[-2:] == ["Every row.", "A sample."]


def test_a_comparison_that_would_be_too_wide_leaves_standard_errors_out(result):
    table = comparison([result] * 7)
    assert max(len(line) for line in table.splitlines()) <= 100
    assert "±" in comparison([result] * 2)
    assert "±" not in table
    assert "standard errors: --json" in table


def test_consecutive_ranks_are_written_as_a_range():
    assert format_ranges([7, 2, 3, 4]) == "2 to 4, 7"
    assert format_ranges([1]) == "1"


def test_a_result_on_another_scale_is_printed_on_it(result):
    """Values, intervals, biases and routing gains; the scale is named once."""
    stars = replace(result, outcome_range=(1.0, 5.0), routing=replace(result.routing, gain=0.1, verdict="route"))
    text = stars.summary(verbose=True)
    assert text.count("on your scale from 1 to 5") == 1
    assert max(map(len, text.splitlines())) <= TERMINAL_WIDTH
    row = result.values.table()[0]
    assert f"value {1 + 4 * row['estimate']:.2f}" in answer_lines(stars)[1]
    assert f"{1 + 4 * row['low']:.2f} to {1 + 4 * row['high']:.2f}" in answer_lines(stars)[1]
    i, cells = result.models.index(row["model"]), value_rows(stars)[1]
    assert cells[4] == f"{1 + 4 * result.raw_log.estimate[i]:.2f}"
    assert cells[5] == f"{4 * (result.raw_log.estimate[i] - row['estimate']):+.2f}"
    assert cells[6] == f"{1 + 4 * result.experiment.estimate[i]:.2f} ± {4 * result.experiment.standard_error[i]:.2f}"
    assert f"up to {4 * result.log_bias.max_bias_bound:.2f}" in text
    assert any("gains +0.40 over" in line for line in answer_lines(stars))
    assert "on your scale from 1 to 5" in comparison([stars])
    assert f"{1 + 4 * row['estimate']:.2f} ± " in comparison([stars])
    assert "your scale" not in result.summary(verbose=True)


def test_warnings_about_outcomes_are_on_the_users_scale(result):
    drifting = Finding("outcome drift", "warn", OutcomeDrift("log", 0.1), "A3", 0.1, 0.001, 0.002)
    assert "+0.100" in lines(replace(result, findings=(drifting,)), "Warnings")[0]
    stars = replace(result, findings=(drifting,), outcome_range=(1.0, 5.0))
    assert "+0.400" in lines(stars, "Warnings")[0]
