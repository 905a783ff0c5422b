"""The loader accepts the files of the package, and refuses mistakes with the place and the fix."""

from __future__ import annotations

import re
import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from deconfound_bench.articles.wordings import read_wordings

from deconfound.errors import DataError


def test_every_topic_file_is_a_topic(wordings):
    names = sorted(path.name for path in (files("deconfound_bench.articles") / "wordings" / "topics").iterdir())
    assert [f"{topic.name}.toml" for topic in wordings.topics] == names


def test_every_event_has_three_wordings_and_every_subject_an_event(wordings):
    for topic in wordings.topics:
        assert all(len(event.wordings) == 3 for event in topic.events), topic.name
        keywords = {subject.keyword for subject in topic.subjects}
        assert {keyword for event in topic.events for keyword in event.only_for or keywords} == keywords, topic.name


@pytest.fixture
def copied(tmp_path):
    package = Path(str(files("deconfound_bench.articles")))
    shutil.copytree(package / "wordings", tmp_path / "wordings")
    return tmp_path / "wordings"


def edit(folder, name, pattern, replacement):
    path = folder / name
    text, count = re.subn(pattern, lambda _: replacement, path.read_text(), count=1, flags=re.MULTILINE | re.DOTALL)
    assert count == 1
    path.write_text(text)


def test_a_list_can_be_an_array_or_one_text_with_one_item_per_line(copied, wordings):
    edit(copied, "topics/tennis.toml", r"^units = \[.*?\]", "units = '''\n  aces\n\n  ranking points\n'''")
    topic = next(topic for topic in read_wordings(copied).topics if topic.name == "tennis")
    assert topic.lists["units"] == ("aces", "ranking points")
    assert topic.events == next(topic for topic in wordings.topics if topic.name == "tennis").events


FOOTBALL = "topics/football.toml"
MISTAKES = {
    "missing list": (FOOTBALL, r"^facts = '''.*?'''", "", 'football.toml: the key "facts" (clauses in the past tense'),
    "missing flag": (FOOTBALL, r"^large_sums = true", "", 'football.toml: the key "large_sums" is missing'),
    "missing key of a subject": (FOOTBALL, r', short = "the tie"', "", 'subjects 2: the key "short" is missing'),
    "missing name list": ("names.toml", r"^saints = \[.*?\]", "", 'names.toml: the key "saints" (names of saints)'),
    "missing structure": ("structures.toml", r"^share = 0.3$", "", 'structures 1: the key "share" is missing'),
    "unknown key": (FOOTBALL, r"^large_sums", "fcats = 'a'\nlarge_sums", "football.toml: unknown key fcats"),
    "number as list": (FOOTBALL, r"^units = \[.*?\]", "units = 3", '"units" must be a text with one item per line or'),
    "number in array": (FOOTBALL, r'"points"', "7", '"units" must be a text with one item per line or an array'),
    "text as flag": (FOOTBALL, r"^large_sums = true", "large_sums = 'yes'", '"large_sums" must be true or false, but'),
    "flag as number": (
        "newspapers.toml",
        r"^quotes = 0.9",
        "quotes = true",
        '"quotes" must be a number, but',
    ),
    "text as tables": (FOOTBALL, r"^subjects = \[.*?^\]", "subjects = 'a'", '"subjects" must be an array, but is "a"'),
    "empty list": (FOOTBALL, r"^units = \[.*?\]", "units = []", 'football.toml: "units" is empty'),
    "unknown slot": (FOOTBALL, r"\{player\}", "{playr}", "football.toml facts: the slot {playr} is unknown"),
    "slot too early": (
        FOOTBALL,
        r"^\{place\} \{Rovers",
        "{org} {Rovers",
        "organizations: the slot {org} is unknown",
    ),
    "event elsewhere": ("common.toml", r"^little \{", "{event} {", "general_facts: the slot {event} is unknown"),
    "open brace": (FOOTBALL, r"\{player\}", "{player", "facts: a brace is never closed"),
    "slot of a newspaper": ("newspapers.toml", r"\{org\}", "{orgs}", "newspapers 1 asides: the slot {orgs} is unknown"),
    "too few wordings": (FOOTBALL, r"^\{org\} took all[^\n]*", "", "events 3: the event has fewer than 3 wordings"),
    "unknown subject": ("topics/politics.toml", r'"treaty", "measure"\]', '"traety"]', "only_for names traety"),
    "renamed subject": (
        "topics/politics.toml",
        r'short = "the bill"',
        'short = "the decree"',
        "only_for names bill",
    ),
    "unknown kind": (
        "structures.toml",
        r"^opening = \[\"lead\"\]",
        'opening = ["led"]',
        "unknown kind of sentence",
    ),
    "no TOML": ("forms.toml", r"\A", "a = \n", "forms.toml: the file is not valid TOML"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_with_its_place(copied, mistake):
    name, pattern, replacement, message = MISTAKES[mistake]
    edit(copied, name, pattern, replacement)
    with pytest.raises(DataError, match=re.escape(message)):
        read_wordings(copied)


def test_a_subject_without_an_event_is_refused(copied):
    path = copied / "topics" / "politics.toml"
    text = path.read_text().replace('short = "the reshuffle"', 'short = "the shuffle"').replace(', "reshuffle"', "")
    head, *events = text.split("[[events]]")
    path.write_text("[[events]]".join([head, *(event for event in events if "only_for" in event)]))
    with pytest.raises(DataError, match='no event fits the subject "the shuffle"'):
        read_wordings(copied)


def test_a_missing_file_is_refused(copied):
    (copied / "common.toml").unlink()
    with pytest.raises(DataError, match=r"common\.toml: there is no such file"):
        read_wordings(copied)


def test_a_folder_without_topics_is_refused(copied):
    shutil.rmtree(copied / "topics")
    with pytest.raises(DataError, match="topics: there is no topic file"):
        read_wordings(copied)
