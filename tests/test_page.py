"""The page: readable by itself, and deaf to what strangers wrote into names."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest

import deconfound as dc
from deconfound.demo import Sizes, make_demo

SMALL = Sizes(log_contexts=40, log_repeats=3, log_people=20, experiment_contexts=36, experiment_people=36, draws=1)


@pytest.fixture(scope="module")
def result() -> dc.Result:
    demo = make_demo(1, sizes=SMALL)
    return dc.evaluate(dc.load(log=demo.log, experiment=demo.experiment, replay=demo.replay), family="exp-only")


class Reader(HTMLParser):
    """Collects tags with their attributes, and checks that they nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "line", "circle", "path"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_the_page_opens_with_the_answer_and_shows_every_model(result, tmp_path):
    result.to_html(tmp_path / "page.html")
    reader = read((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert result.summary().splitlines()[0] in reader.text
    for row in result.values.table():
        assert f"{row['estimate']:.3f}" in reader.text
    assert sum(tag == "circle" for tag, _ in reader.seen) == len(result.models)


def test_the_page_fetches_and_runs_nothing(result, tmp_path):
    result.to_html(tmp_path / "page.html")
    reader = read((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert not {tag for tag, _ in reader.seen} & {"script", "link", "img", "iframe", "object"}
    for _, attributes in reader.seen:
        assert not {name for name in attributes if name.startswith("on") or name in ("src", "href")}


def test_hostile_names_stay_text(result, tmp_path):
    names = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a&b", "\x1b[31m", "e" * 300, "f")
    values = {
        name: replace(getattr(result, name), models=names) for name in ("values", "direct", "experiment", "raw_log")
    }
    replace(result, recommendations=(), **values).to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    reader = read(page)
    assert not {tag for tag, _ in reader.seen} & {"script", "img"}
    assert "\x1b" not in page
    assert "a&b" in "".join(reader.text)
