"""The page forbids the browser everything but its own style and script, and no name gets past that."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from deconfound.report.page.render_page import render_html
from tests.attack.test_names import with_models
from tests.support.results import demo_result

SCRIPT = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e\u200b\x9b"
CONTROLS = (
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\u200c\u200d\ufeff\x7f\x85\x9b"
)


class Head(HTMLParser):
    """The order of the tags, the policy, the content of style elements, and every attribute's name."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.policies: list[str] = []
        self.styles: list[str] = []
        self.scripts: list[tuple[str | None, str]] = []  # type and content
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if ("http-equiv", "Content-Security-Policy") in attrs:
            self.policies.append(dict(attrs)["content"])
        if tag == "style":
            self.styles.append("")
        if tag == "script":
            self.scripts.append((dict(attrs).get("type"), ""))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "style" and not self.styles[-1]:
            self.styles[-1] = data
        if self.tags and self.tags[-1] == "script" and not self.scripts[-1][1]:
            self.scripts[-1] = (self.scripts[-1][0], data)


def digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@pytest.fixture(scope="module")
def page() -> str:
    result = demo_result()
    return render_html(with_models(result, tuple(f"{SCRIPT}{k}" for k in range(len(result.models)))))


def test_the_policy_allows_the_one_style_and_script_and_nothing_else(page):
    head = Head(page)
    (policy,), (style,) = head.policies, head.styles
    (kind, data), (_, script) = head.scripts
    assert kind == "application/json"
    assert not set("<>&") & set(data)
    assert json.loads(data)["models"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digest(style)}'",
        "script-src": f"'sha256-{digest(script)}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_the_policy_comes_before_what_it_restricts(page):
    html = page.index("Content-Security-Policy")
    assert html < page.index("<style") < page.index("<body")
    assert page.index('<meta charset="utf-8">') < html


def test_no_name_becomes_markup_and_no_element_needs_what_the_policy_forbids(page):
    head = Head(page)
    assert head.tags.count("script") == 2
    assert not {"img", "link", "iframe", "form", "base", "object"} & set(head.tags)
    assert not {"style", "src"} & head.attributes
    assert all(link.startswith("#") for link in re.findall(r'href="([^"]*)"', page))
    assert not any(name.startswith("on") for name in head.attributes)


def test_no_direction_mark_or_invisible_character_is_on_the_page(page):
    assert not set(CONTROLS) & set(page)
    assert "\\u202e\\u200b\\x9b" in page


def test_a_sentence_that_forgot_to_escape_a_name_is_escaped_at_the_exit(monkeypatch):
    monkeypatch.setattr("deconfound.report.page.render_page.sensitivity_lines", lambda *_: [CONTROLS])
    assert not set(CONTROLS) & set(render_html(demo_result()))
