"""The corpus of invented articles is reproducible to the byte."""

from __future__ import annotations

import subprocess
import sys

import pytest
from deconfound_bench.articles import make_articles

from deconfound.errors import UsageError


def test_the_first_200_articles_have_the_published_digest():
    """Results are saved under the version of the corpus: if the texts change, the version must change too."""
    assert make_articles(200).digest == "aef1e1dcf3573b743b6db5ad7ff7cb4ac9c48d4c7a3a6518d142790a573ae6a6"


def test_an_article_does_not_depend_on_the_number_of_articles(corpus):
    assert make_articles(7).texts == corpus.texts[:7]


def test_another_seed_gives_other_articles(corpus):
    assert not set(make_articles(20, seed=1).texts) & set(corpus.texts)


def test_the_same_seed_gives_the_same_bytes_in_another_process():
    code = "from deconfound_bench.articles import make_articles; print(make_articles(12).digest)"
    env = {"PYTHONHASHSEED": "77", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == make_articles(12).digest


def test_all_articles_differ_and_the_digest_depends_on_all_of_them(corpus):
    assert len(set(corpus.texts)) == len(corpus.texts)
    assert make_articles(3).digest != make_articles(4).digest
    assert corpus.dropped == ()


@pytest.mark.parametrize(("count", "seed"), [(0, 0), (-1, 0), (5, -1)])
def test_a_count_below_one_or_a_negative_seed_is_refused(count, seed):
    with pytest.raises(UsageError):
        make_articles(count, seed)
