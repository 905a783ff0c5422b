"""Biases of a planted size are found in the report, inside their intervals; judges without a bias show none.

One report is made over HTTP, with a seed at which all intervals cover; each of them does so for 95 % of the seeds,
which is simulated without HTTP.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.endpoints.runner import RunOptions
from deconfound.judging.judge_plan import JudgePlan
from deconfound.judging.judge_run import JudgeRun, label_array, probe_data, run_judges
from deconfound.judging.probes import AVERAGE, COMBINED, LATER, PROBES, estimate_probes
from deconfound.judging.verdicts import Verdict
from deconfound.report.probing_text import probe_document, probe_text
from tests.support.replay_files import FakeClock
from tests.support.scripted_judge import SCALES, ScriptedJudge, judge_table, outputs_table, read_sheet, write_judges
from tests.support.scripted_server import scripted_server

CONTEXTS = 30
BIASED = ScriptedJudge(seed=5, position=-0.1, text_order=0.03, length=0.05, order=0.12, own=0.08)
FAIR = ScriptedJudge(seed=5, strictness=0.05)
JUDGES = (judge_table("biased", 'own_models = ["oak"]'), judge_table("fair", at="small-2"))


def human_scores() -> pa.Table:
    """Persons who agree with the quality that scripted judges see, but for noise."""
    table = outputs_table(CONTEXTS)
    rng = np.random.default_rng(0)
    quality = [FAIR.quality(text) for text in table["context"].to_pylist()]
    return table.append_column("rating", pa.array(np.array(quality) + rng.normal(0, 0.03, len(quality))))


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> JudgeRun:
    folder = tmp_path_factory.mktemp("probes")
    with scripted_server(lambda one: (BIASED if one.body["model"] == "small-1" else FAIR)(one)) as server:
        settings = write_judges(folder, server.url, *JUDGES)
        plan = JudgePlan.load(human_scores(), settings, probe=2 * CONTEXTS)
        with ReplyCache(folder / "cache") as cache:
            return run_judges(plan, cache, RunOptions(4, FakeClock()))


def interval(report, probe, judge, measure=COMBINED):
    (found,) = [one.interval for one in report.probes if (one.probe, one.judge, one.measure) == (probe, judge, measure)]
    return found


PLANTED = [
    ("text order", COMBINED, 0.03),
    ("length", COMBINED, 0.05),
    ("length", "coverage", 0.05),
    ("orders in the output", COMBINED, 0.12),
    ("orders in the output", "clarity", 0.12),
    ("orders in the output", "unsupported_claims", 0.0),
    ("self-preference", COMBINED, 0.08),
    ("criterion order", LATER, -0.1 * 3 / 4),  # the count is the fourth criterion that moves, and has no bias
    ("criterion order", "faithfulness", -0.1),
    ("criterion order", "clarity", 0.0),
    ("criterion order", "conciseness", 0.1),
]


@pytest.mark.parametrize(("probe", "measure", "size"), PLANTED)
def test_a_planted_bias_is_inside_its_interval_and_zero_is_not(report, probe, measure, size):
    found = interval(report, probe, "biased", measure)
    assert found.low <= size + 1e-12
    assert found.high >= size - 1e-12
    assert size == 0 or not found.low <= 0 <= found.high
    assert found.high - found.low < 0.05
    assert (found.n, found.contexts) == (2 * CONTEXTS, CONTEXTS)


@pytest.mark.parametrize("probe", ["text order", "length", "orders in the output", "criterion order"])
def test_a_fair_judge_shows_nothing_and_the_average_half(report, probe):
    measure = LATER if probe == "criterion order" else COMBINED
    fair, average = interval(report, probe, "fair", measure), interval(report, probe, AVERAGE, measure)
    assert fair.low <= 0 <= fair.high
    size = next(size for name, of, size in PLANTED if (name, of) == (probe, measure))
    assert average.low <= size / 2 <= average.high


def test_repeatability_is_the_noise_of_two_draws(report):
    """The difference of two scores has the standard deviation 0.04 sqrt 2, and its absolute value that times 0.798."""
    for measure in SCALES:
        found = interval(report, "repeatability", "fair", measure)
        assert found.low <= 0.04 * np.sqrt(2) * np.sqrt(2 / np.pi) <= found.high
    assert interval(report, "repeatability", "fair", "unsupported_claims").high == 0


def test_agreement_is_the_rank_correlation_with_persons(report):
    """Qualities are uniform with sd 0.058; the noise of a combined score is 0.02, that of persons 0.03."""
    expected = 0.0577**2 / np.sqrt((0.0577**2 + 0.02**2) * (0.0577**2 + 0.03**2))
    found = interval(report, "agreement", "fair")
    assert found.low <= expected <= found.high
    assert found.low > 0.5


def test_strictness_is_no_self_preference(report):
    """The fair judge wrote nothing, and the average has no outputs of its own."""
    assert {one.judge for one in report.probes if one.probe == "self-preference"} == {"biased"}


def test_the_report_says_by_how_much_an_order_moves_scores(report):
    text, document = probe_text(report), probe_document(report)
    found = interval(report, "orders in the output", "biased")
    assert f"biased: an output that orders full marks gets {found.estimate:.3f} more than its neutral twin" in text
    assert "fair: no sign that an order in the output changes scores" in text
    assert {one["probe"] for one in document["estimates"]} == set(PROBES)
    assert document["not_possible"] == {}
    assert {"estimate", "low", "high", "n", "contexts", "standard_error"} <= set(document["estimates"][0])
    json.dumps(document)


@pytest.mark.slow
def test_intervals_cover_planted_biases(tmp_path):
    """200 judges with other noise: at a coverage of 95 %, fewer than 179 hits have a probability below 0.001."""
    plan = JudgePlan.load(human_scores(), write_judges(tmp_path, "http://127.0.0.1:9", *JUDGES), probe=2 * CONTEXTS)
    sheets = [(one.draw, read_sheet(plan.calls[0].prompts.text(one))) for one in plan.questions]
    hits = dict.fromkeys(PLANTED, 0)
    for seed in range(200):
        by_judge = [
            label_array([verdict(replace(judge, seed=seed), sheet, draw, plan) for draw, sheet in sheets], plan.rubric)
            for judge in (BIASED, FAIR)
        ]
        estimates = estimate_probes(probe_data(plan, by_judge))
        found = {(one.probe, one.measure): one.interval for one in estimates if one.judge == "biased"}
        for probe, measure, size in PLANTED:
            one = found[probe, measure]
            hits[probe, measure, size] += one.low - 1e-12 <= size <= one.high + 1e-12
    sys.stdout.write(f"{hits}\n")
    assert min(hits.values()) >= 179


def verdict(judge, sheet, draw, plan):
    scores = judge.scores_of(sheet, draw, "small-2" if judge.strictness else "small-1")
    return Verdict(tuple(scores[name] for name in plan.rubric.names))


def test_what_cannot_be_probed_says_why(tmp_path):
    with scripted_server(FAIR) as server:
        plan = JudgePlan.load(outputs_table(3), write_judges(tmp_path, server.url, JUDGES[0]), probe=4)
        with ReplyCache(tmp_path / "cache") as cache:
            found = run_judges(plan, cache, RunOptions(4, FakeClock()))
    document = probe_document(found)
    assert set(document["not_possible"]) == {"self-preference", "agreement"}
    assert "--human" in probe_text(found)
    assert document["sample"] == 4


def test_the_sample_depends_on_the_outputs_alone(tmp_path):
    settings = write_judges(tmp_path, "http://127.0.0.1:9", *JUDGES)
    table = outputs_table(20)
    turned = table.take(pa.array(range(39, -1, -1)))
    plans = [JudgePlan.load(one, settings, probe=10) for one in (table, turned, pa.concat_tables([table, table]))]
    chosen = [{plan.pairs.pairs[at] for at in plan.sample} for plan in plans]
    assert chosen[0] == chosen[1] == chosen[2]
    assert len(chosen[0]) == 10
    assert len(JudgePlan.load(table, settings, probe=1000).sample) == 40
