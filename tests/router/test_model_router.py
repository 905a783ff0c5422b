"""A router: the same choice from a file as from memory, on any text, with numpy alone."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deconfound as dc
from deconfound.errors import DataError, UsageError
from deconfound.features.hashing import hash_texts
from deconfound.features.text_arrays import read_texts
from deconfound.router.policy_file import policy_document, policy_from_document, policy_json, read_policy, write_policy
from deconfound.words.phrase_hashing import hash_words
from deconfound.words.word_splitting import tokenize
from tests.router.policies import SCORES, policies

TEXTS = ("", " \n", "a poem", "poem poem poem", "日本語のテスト ☃", "\ud800 lone", "?!", "POEM\x00\x1b[2J")


@pytest.mark.parametrize("kind", ["single", "segments", "context"])
def test_a_policy_survives_its_file(kind, tmp_path):
    policy = policies()[kind]
    write_policy(policy, tmp_path / "policy.json")
    again = read_policy(tmp_path / "policy.json")
    assert (again.kind, again.models, again.default, again.evidence) == (
        kind,
        policy.models,
        policy.default,
        policy.evidence,
    )
    for text in TEXTS:
        for segment in (None, "DE", "unknown"):
            np.testing.assert_allclose(again.score(text, segment), policy.score(text, segment), atol=1e-6)
            assert again.choose(text, segment) == policy.choose(text, segment)
    assert policy_json(again) == policy_json(policy)  # 0.5 and unit vectors of one word are exact in 32 bits


def test_the_policy_of_each_kind_chooses_by_what_it_should():
    single, segments, context = (dc.Router(policies()[kind]) for kind in ("single", "segments", "context"))
    assert {single.choose(text, "DE") for text in TEXTS} == {"ant"}
    assert segments.choose("", "DE") == "bee ☂"
    assert segments.choose("") == segments.choose("", "FR") == "ant"
    assert context.choose("a poem") == "cat"
    assert context.choose("a bill") == context.choose("") == "ant"
    assert context.scores("") == dict(zip(context.models, SCORES, strict=True))


def test_messages_are_read_as_in_tables():
    router = dc.Router(policies()["context"])
    assert router.choose([{"role": "user", "content": "poem"}]) == "cat"
    parts = [{"role": "user", "content": [{"type": "text", "text": "poem"}]}]
    assert router.scores(parts) == router.scores("poem")
    assert router.choose([]) == "ant"
    with pytest.raises(UsageError, match="a text or a list of messages, not int"):
        router.choose(3)


def test_ten_megabytes_are_read_in_time():
    router, start = dc.Router(policies()["context"]), time.process_time()
    assert router.choose("poem " * 2_000_000) == "cat"
    assert time.process_time() - start < 10


@given(st.text())
def test_one_text_is_hashed_as_a_table_of_texts_is(text):
    text = text.encode("utf-8", "replace").decode()
    expected = hash_texts(read_texts([text]), "context", 64).toarray()[0]
    np.testing.assert_allclose(hash_words(tokenize(text), "context", 64), expected, atol=1e-12)


def test_a_tie_stays_with_the_default():
    document = policy_document(policies()["single"]) | {"scores": [0.5, 0.5, 0.5], "default": "cat"}
    assert dc.Router(policy_from_document(document, "p")).choose("x") == "cat"


DAMAGE = {
    "no policy": ({"format": "other"}, "no policy of deconfound"),
    "newer": ({"schema": 2}, "schema 2"),
    "kind": ({"kind": "magic"}, "kind is unknown"),
    "default": ({"default": "dog"}, "default is none of its models"),
    "twice": ({"models": ["ant", "ant", "cat"]}, "named twice"),
    "no models": ({"models": []}, "missing"),
    "scores": ({"scores": [1, 2]}, "scores is not 3 numbers"),
    "text scores": ({"scores": ["1", 2, 3]}, "scores is not 3 numbers"),
    "infinite": ({"scores": [1e999, 2, 3]}, "not finite"),
    "rule": ({"prompt": {}}, "damaged"),
    "evidence": ({"evidence": {}}, "damaged"),
    "evidence none": ({"evidence": None}, "damaged"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_refused_with_its_name_and_a_reason(name, tmp_path):
    change, reason = DAMAGE[name]
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(policy_document(policies()["context"]) | change))
    with pytest.raises(DataError, match=reason) as error:
        dc.Router.load(path)
    assert "policy.json" in str(error.value)


@pytest.mark.parametrize(
    "change",
    [
        {"buckets": 63},
        {"buckets": True},
        {"buckets": 2**40},
        {"word_weight": "A"},
        {"word_weight": ""},
        {"style_sd": [-1.0] * 7},
        {"style_weight": [[0.0]]},
        {"base": None},
    ],
)
def test_damaged_weights_are_refused(change, tmp_path):
    document = policy_document(policies()["context"])
    document["prompt"] |= change
    (tmp_path / "policy.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match="damaged"):
        dc.Router.load(tmp_path / "policy.json")


@pytest.mark.parametrize("content", [b"", b"[1", b"\xff\xfe", b"[]", b"null", b"[" * 100_000])
def test_any_other_file_is_refused(content, tmp_path):
    (tmp_path / "policy.json").write_bytes(content)
    with pytest.raises(DataError, match=r"policy\.json"):
        dc.Router.load(tmp_path / "policy.json")
    with pytest.raises(DataError, match="cannot be opened"):
        dc.Router.load(tmp_path / "none.json")


def test_a_file_is_replaced_only_on_request(tmp_path):
    write_policy(policies()["single"], tmp_path / "policy.json")
    with pytest.raises(UsageError, match="exists"):
        write_policy(policies()["context"], tmp_path / "policy.json")
    write_policy(policies()["context"], tmp_path / "policy.json", overwrite=True)
    assert dc.Router.load(tmp_path / "policy.json").policy.kind == "context"


def test_a_router_needs_numpy_only(tmp_path):
    write_policy(policies()["context"], tmp_path / "policy.json")
    code = "import sys, deconfound as dc; r = dc.Router.load(sys.argv[1]); print(r.choose('a poem')); "
    code += "assert not {'scipy', 'pyarrow', 'threadpoolctl'} & {name.split('.')[0] for name in sys.modules}"
    command = [sys.executable, "-c", code, str(tmp_path / "policy.json")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "cat"
