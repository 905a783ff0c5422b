"""Scores and assignments are joined to the calls they belong to, or `convert` says why it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from tests.support.trace_runs import MODELS, make_runs, write_csv, write_lines

COUNT = 8


@dataclass
class Team:
    """A folder with traces, and conversions of it."""

    folder: Path
    capsys: pytest.CaptureFixture

    def convert(self, *options):
        """The exit code, what was printed on one line, and the tables by name."""
        traces = write_lines(self.folder / "traces" / "runs.jsonl", make_runs(COUNT))
        code = main(["convert", str(traces.parent), "-o", str(self.folder / "out"), "--overwrite", *options])
        printed = self.capsys.readouterr()
        paths = (self.folder / "out").glob("*.parquet") if code == 0 else ()
        tables = {path.stem: pq.read_table(path).to_pydict() for path in paths}
        return code, " ".join((printed.out + printed.err).split()), tables

    def with_scores(self, rows, *options, lines=False):
        path = self.folder / ("feedback.jsonl" if lines else "feedback.csv")
        (write_lines if lines else write_csv)(path, rows)
        return self.convert("--outcomes", str(path), *options)

    def with_exposures(self, rows, *options):
        return self.convert("--exposures", str(write_csv(self.folder / "exposures.csv", rows)), *options)

    def refused(self, done):
        code, text, _ = done
        assert code in (1, 2)
        assert not (self.folder / "out").exists()
        return text


@pytest.fixture
def team(tmp_path, capsys):
    return Team(tmp_path, capsys)


def exposures(propensity, column="propensity", **fields):
    """Every user saw the model that answered; ``propensity`` is a function of the user's number."""
    row = {"timestamp": "2026-04-01T00:00:00Z", **fields}
    return [{"user_id": f"u{n}", "variant": MODELS[n % 2], **row, column: propensity(n)} for n in range(COUNT)]


def scores(value, **fields):
    def cell(given, n):
        return given(n) if callable(given) else given

    filled = [{name: cell(given, n) for name, given in fields.items()} for n in range(COUNT)]
    return [{"call_id": f"run-{n}", "score": cell(value, n), **filled[n]} for n in range(COUNT)]


READABLE = [
    lambda n: 0.3 if n % 2 else 0.7,
    lambda n: "0.3" if n % 2 else ".7",
    lambda n: 30 if n % 2 else 70,
    lambda n: "30%" if n % 2 else "70 %",
]


@pytest.mark.parametrize("propensity", READABLE)
def test_propensities_that_can_mean_one_thing_are_read(team, propensity):
    code, _, tables = team.with_exposures(exposures(propensity))
    assert code == 0
    assert tables["experiment"]["propensity"] == pytest.approx([0.7, 0.3] * 4)


UNREADABLE = [
    (lambda n: "" if n == 5 else 0.3 if n % 2 else 0.7, "row 6", "has no value"),
    (lambda _: "", "row 1", "has no value"),
    (lambda n: "0,3" if n % 2 else "0,7", "row 1", '"0,7"'),
    (lambda n: 30 if n % 2 else 60, "row 1", "60"),
    (lambda n: [10, 90, 20, 80][n % 4], "row 1", "10"),
    (lambda n: "30%" if n % 2 else 0.7, "row 2", '"30%"'),
    (lambda n: 0 if n == 3 else 0.5, "row 4", "0"),
    (lambda n: -0.5 if n == 3 else 0.5, "row 4", "-0.5"),
    (lambda n: "likely" if n == 3 else 0.5, "row 4", '"likely"'),
    (lambda n: "inf" if n == 3 else 0.5, "row 4", "inf is not a probability"),
]


@pytest.mark.parametrize(("propensity", "row", "what"), UNREADABLE)
def test_a_propensity_that_cannot_be_read_is_never_left_out(team, propensity, row, what):
    """Without its propensities the experiment counts as evenly drawn, and another model can win."""
    text = team.refused(team.with_exposures(exposures(propensity)))
    assert f"exposures.csv {row}: propensity" in text
    assert what in text


def test_only_rows_that_are_used_need_a_propensity(team):
    unused = {"user_id": "elsewhere", "variant": "aspen", "timestamp": "2026-04-01T00:00:00Z", "propensity": ""}
    code, _, tables = team.with_exposures([*exposures(lambda _: 0.5), unused])
    assert code == 0
    assert tables["experiment"]["propensity"] == [0.5] * COUNT


@pytest.mark.parametrize(
    ("weights", "variants", "expected"),
    [
        ("[0.7, 0.3]", ("0", "1"), [0.7, 0.3]),
        ("[70, 30]", ("0", "1"), [0.7, 0.3]),
        ('{"aspen": 0.7, "cedar": 0.3}', MODELS, [0.7, 0.3]),
        ("[0.7, 0.3]", MODELS, "no place"),
        ("[0.7, 0.3]", ("0", "-1"), "no place"),
        ("[0.7, 0.3]", ("0", "2"), "no place"),
        ("[0.7, 0.7]", ("0", "1"), "sum to 1"),
        ("seven", ("0", "1"), "is not a list of weights"),
    ],
)
def test_weights_belong_to_the_variants_or_are_refused(team, weights, variants, expected):
    rows = exposures(lambda _: weights, "variation_weights")
    for n, row in enumerate(rows):
        row["variant"] = variants[n % 2]
    options = [f"--variant={name}={model}" for name, model in zip(variants, MODELS, strict=True)]
    done = team.with_exposures(rows, *options)
    if isinstance(expected, str):
        assert expected in team.refused(done)
    else:
        assert done[2]["experiment"]["propensity"] == pytest.approx(expected * 4)


@pytest.mark.parametrize("time", ["20260401", "20260401120000", "1775001600", "1775001600000", "1775001600000000"])
def test_times_of_exposures_are_read_in_the_unit_that_they_are_in(team, time):
    code, _, tables = team.with_exposures(exposures(lambda _: 0.5, timestamp=time))
    assert code == 0
    assert len(tables["experiment"]["model"]) == COUNT


@pytest.mark.parametrize("time", ["20270101", "1800000000", "1800000000000", "2027-01-01"])
def test_a_join_that_leaves_no_randomized_call_is_an_error_with_the_cause(team, time):
    text = team.refused(team.with_exposures(exposures(lambda _: 0.5, timestamp=time)))
    assert "8 calls were made before their user was exposed" in text
    assert "2027-01" in text
    assert "2026-05-01" in text


def test_ids_that_do_not_match_are_an_error(team):
    rows = [{**row, "user_id": f"x{row['user_id']}"} for row in exposures(lambda _: 0.5)]
    assert "8 calls are of no user or conversation in the table" in team.refused(team.with_exposures(rows))


@pytest.mark.parametrize("time", ["46000", "29583360", "05/01/2026", ""])
def test_times_that_may_mean_anything_are_refused(team, time):
    rows = exposures(lambda _: 0.5)
    rows[2]["timestamp"] = time
    assert "exposures.csv row 3: timestamp" in team.refused(team.with_exposures(rows))


def test_users_with_two_variants_are_in_no_table(team):
    """They were randomized, so they are no ordinary use either; before the exposure they were."""
    again = {"user_id": "u1", "variant": "aspen", "timestamp": "2026-04-02T00:00:00Z"}
    rows = [{key: row[key] for key in again} for row in exposures(lambda _: 0.5)]
    code, text, tables = team.with_exposures([*rows, again])
    assert code == 0
    assert len(tables["experiment"]["model"]) == COUNT - 1
    assert "log" not in tables
    assert "of a user with two variants 1" in text


@pytest.mark.parametrize("order", [1, -1])
def test_the_score_of_a_judge_is_never_taken_for_a_person_s(team, order):
    rows = [scores(1, source="human"), scores(0, source="llm")]
    code, text, tables = team.with_scores([row for part in rows[::order] for row in part])
    assert code == 0
    assert tables["log"]["outcome"] == [1.0] * COUNT
    assert tables["log"]["label_score_judge"] == [0.0] * COUNT
    assert "score (by human)" in text
    assert "score_judge" in text
    assert team.with_scores(rows[0] + rows[1], "--outcome", "score_judge")[2]["log"]["outcome"] == [0.0] * COUNT


@pytest.mark.parametrize("order", [1, -1])
def test_a_person_and_somebody_unknown_under_one_name_are_asked_about(team, order):
    rows = [scores(1, source="human"), scores(0, source="")]
    given = [row for part in rows[::order] for row in part]
    assert "Which score is the outcome?" in team.refused(team.with_scores(given))
    assert team.with_scores(given, "--outcome", "score")[2]["log"]["outcome"] == [1.0] * COUNT


@pytest.mark.parametrize("order", [1, -1])
def test_kinds_of_authors_that_are_not_known_are_not_one_author(team, order):
    rows = [scores(1, source="support team"), scores(0, source="sales team")]
    _, _, tables = team.with_scores([row for part in rows[::order] for row in part], "--outcome", "score")
    assert tables["log"]["outcome"] == [0.5] * COUNT


LATER, EARLIER = "2026-05-02T00:00:00Z", "2026-05-01T00:00:00Z"


@pytest.mark.parametrize("order", [1, -1])
def test_one_time_that_cannot_be_read_leaves_the_others_as_they_are(team, order):
    parts = [scores(0, timestamp=LATER), scores(1, timestamp=EARLIER)]
    parts[0][0]["timestamp"] = "05/02/2026"
    del parts[1][0]
    code, _, tables = team.with_scores([row for part in parts[::order] for row in part])
    assert code == 0
    assert tables["log"]["outcome"] == [0.0] * COUNT


def test_it_is_never_guessed_which_score_is_the_last(team):
    parts = scores(0, timestamp=LATER) + scores(1, timestamp=lambda n: EARLIER if n else "05/01/2026")
    text = team.refused(team.with_scores(parts))
    assert "feedback.csv row 9: the score has no time that can be read" in text
    parts[8]["score"] = 0  # both say the same
    assert team.with_scores(parts)[2]["log"]["outcome"] == [0.0] * COUNT


@pytest.mark.parametrize("time", [("1777593600", "1777680000000"), ("20260501", "20260502"), (EARLIER, LATER)])
def test_times_of_scores_are_read_in_the_unit_that_they_are_in(team, time):
    parts = scores(0, timestamp=time[1]) + scores(1, timestamp=time[0])
    assert team.with_scores(parts)[2]["log"]["outcome"] == [0.0] * COUNT


@pytest.mark.parametrize("cells", [("good", 5), ("90%", 80), (True, 0.5), ("up", "sideways")])
def test_numbers_and_words_under_one_name_are_refused(team, cells):
    rows = scores(lambda n: cells[n % 2])
    text = team.refused(team.with_scores(rows, lines=True))
    assert "feedback.jsonl line" in text
    assert "--outcome-values" in text
    words = f"{str(cells[0]).lower()}=1,{cells[1]}=0"
    assert team.with_scores(rows, "--outcome-values", words, lines=True)[2]["log"]["outcome"] == [1.0, 0.0] * 4


def test_a_label_with_numbers_and_words_is_left_out(team):
    rows = scores(1, score_name="thumb", source="human") + scores(lambda n: 5 if n else "good", score_name="other")
    rows = [{"source": "llm", **row} for row in rows]
    code, text, tables = team.with_scores(rows, lines=True)
    assert code == 0
    assert not [name for name in tables["log"] if name.startswith("label")]
    assert "other" in text


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize(
    ("cells", "words", "expected"),
    [
        ((True, False), "true=0,false=1", [0.0, 1.0]),
        ((1, 2), "1=0,2=1", [0.0, 1.0]),
        (("none", "full"), "none=0,full=1", [0.0, 1.0]),
        (("n/a", "yes"), "yes=1", [None, 1.0]),
    ],
)
def test_the_user_s_words_are_obeyed_in_every_format(team, lines, cells, words, expected):
    done = team.with_scores(scores(lambda n: cells[n % 2]), "--outcome-values", words, lines=lines)
    assert done[2]["log"]["outcome"] == expected * 4


def test_a_word_that_occurs_nowhere_is_refused(team):
    text = team.refused(team.with_scores(scores("good"), "--outcome-values", "godd=1"))
    assert "no score is godd, which --outcome-values names; there are good" in text
