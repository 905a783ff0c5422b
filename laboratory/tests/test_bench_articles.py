"""The benchmark's articles: invented ones that look like news, and the user's own read with care."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import zipfile
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from deconfound_bench.articles import make_articles, read_articles
from deconfound_bench.articles.cast import POOLS
from deconfound_bench.articles.forms import FORMS
from deconfound_bench.articles.frames import ASIDES, COMMON, DUTIES
from deconfound_bench.articles.grammar import parse, slots
from deconfound_bench.articles.moves import MOVES
from deconfound_bench.articles.numbers import PLAIN, VOICED
from deconfound_bench.articles.polish import sentence
from deconfound_bench.articles.structures import STRUCTURES
from deconfound_bench.articles.teller import PRONOUNS, SPECIAL
from deconfound_bench.articles.topics import TOPICS
from pyarrow import parquet

from deconfound.demo.text_sampling import TextSampler
from deconfound.errors import DataError, UsageError

COUNT = 700
STORY = (
    "The council of {} met on Monday and talked for hours. " + "It heard about the roof, the road and the river. " * 6
)
STORIES = [STORY.format(f"town {number}").strip() for number in range(60)]


@pytest.fixture(scope="module")
def corpus():
    return make_articles(COUNT)


@pytest.fixture(scope="module")
def subjects():
    """Each article's first throw of the dice chooses its subject."""
    return np.array(
        [TOPICS.index(TextSampler(np.random.default_rng([0, number])).pick(TOPICS)) for number in range(COUNT)]
    )


def words(text):
    return re.findall(r"[a-z']+", text.lower())


def sentences(text):
    return re.split(r"(?<=[.!?])\s+", text)


# --- invented articles ---


def test_an_article_does_not_depend_on_how_many_are_asked_for(corpus):
    assert make_articles(7).texts == corpus.texts[:7]


def test_another_seed_gives_other_articles(corpus):
    assert not set(make_articles(20, seed=1).texts) & set(corpus.texts)


def test_the_same_seed_gives_the_same_bytes_in_another_process():
    code = "from deconfound_bench.articles import make_articles; print(make_articles(12).digest)"
    env = {"PYTHONHASHSEED": "77", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == make_articles(12).digest


def test_all_articles_differ_and_the_digest_knows_their_order(corpus):
    assert len(set(corpus.texts)) == COUNT
    assert make_articles(3).digest != make_articles(4).digest
    assert corpus.dropped == ()


@pytest.mark.parametrize(("count", "seed"), [(0, 0), (-1, 0), (5, -1)])
def test_senseless_requests_are_refused(count, seed):
    with pytest.raises(UsageError):
        make_articles(count, seed)


def test_lengths_are_those_of_news_and_skewed_to_the_right(corpus):
    lengths = np.array([len(text.split()) for text in corpus.texts])
    assert lengths.min() >= 60
    assert lengths.max() <= 900
    assert 280 <= np.median(lengths) <= 420
    assert lengths.mean() > np.median(lengths)


def test_text_is_paragraphs_of_sentences_without_rough_edges(corpus):
    """Whatever templates meet, no braces, doubled punctuation, stray spaces or wrong articles may be left."""
    rough = re.compile(r"[{}|]|,[.,;:?!]|\.\.| [.,;:?!]|  |\s$|\b[Aa] (?!one|eu)[aeio]|\b[Aa]n [bcdfgjkp]|\bhero\b")
    for text in corpus.texts:
        for paragraph in text.split("\n\n"):
            assert not rough.search(paragraph), paragraph
            assert re.search(r"[.!?][\"”]?$", paragraph), paragraph
            assert re.match(r"[\"“$£€]?[A-Z0-9$£€]", paragraph), paragraph


def test_quotation_marks_come_in_pairs(corpus):
    for text in corpus.texts:
        assert text.count('"') % 2 == 0
        assert text.count("“") == text.count("”")


def test_sentence_splitters_meet_their_hard_cases(corpus):
    together = "\n".join(corpus.texts)
    for case in (
        r"\bMr\. [A-Z]",
        r"\bDr\. [A-Z]",
        r"\bSt\. [A-Z]",
        r"\d\.\d",
        r"\bU\.S\.",
        r"a\.m\.",
        r"Ltd\.",
        r"\?[\"”]",
    ):
        assert re.search(case, together), case


def test_vocabulary_is_rich_and_has_a_long_tail(corpus):
    counts = Counter(word for text in corpus.texts for word in words(text))
    ordered = np.array(sorted(counts.values(), reverse=True))
    ranks = np.arange(1, len(ordered) + 1)
    slope = np.polyfit(np.log(ranks[10:3000]), np.log(ordered[10:3000]), 1)[0]
    assert len(counts) > 6_000
    assert -1.3 < slope < -0.8


def test_every_subject_and_every_shape_is_written(corpus, subjects):
    assert len(TOPICS) >= 14
    assert np.bincount(subjects, minlength=len(TOPICS)).min() >= 15
    assert sum(structure.share for structure in STRUCTURES) == pytest.approx(1.0)
    assert sum("In short," in text or "As reported above" in text for text in corpus.texts) > 5


def test_words_tell_the_subject(corpus, subjects):
    """Naive centroids of half the articles find the subject of the other half."""
    vocabulary = {word: at for at, word in enumerate(sorted({w for text in corpus.texts for w in words(text)}))}
    counts = np.zeros((COUNT, len(vocabulary)))
    for row, text in enumerate(corpus.texts):
        for word in words(text):
            counts[row, vocabulary[word]] += 1
    weighted = np.log1p(counts) * np.log(COUNT / (counts > 0).sum(0))
    weighted /= np.linalg.norm(weighted, axis=1, keepdims=True)
    half = COUNT // 2
    centres = np.array([weighted[:half][subjects[:half] == topic].mean(0) for topic in range(len(TOPICS))])
    found = (weighted[half:] @ centres.T).argmax(1)
    assert (found == subjects[half:]).mean() > 0.85


def test_articles_on_one_subject_are_not_one_form_with_other_names(corpus, subjects):
    """Without names and numbers, two articles on a subject still share few of their sentences."""
    bare = [
        {re.sub(r"\W+", " ", re.sub(r"\b[A-Z]\S*|\d\S*", "", one)) for one in sentences(text)} for text in corpus.texts
    ]
    shared = []
    for topic in range(len(TOPICS)):
        rows = np.flatnonzero(subjects == topic)[:20]
        shared += [len(bare[a] & bare[b]) / min(len(bare[a]), len(bare[b])) for a in rows for b in rows if a < b]
    assert np.mean(shared) < 0.1
    assert np.quantile(shared, 0.99) < 0.4


def test_an_article_comes_back_to_its_names(corpus):
    """Most articles name some person or place at least three times."""
    tops = [Counter(re.findall(r"(?<=[a-z,] )[A-Z][a-z]{3,}", text)).most_common(1) for text in corpus.texts]
    assert np.mean([bool(top) and top[0][1] >= 3 for top in tops]) > 0.6


def test_sentences_are_seldom_repeated_within_an_article(corpus):
    parts = [[one for one in sentences(text) if len(one.split()) > 4] for text in corpus.texts]
    assert np.mean([1 - len(set(one)) / len(one) for one in parts]) < 0.01


# --- the wording behind them ---


def every_template():
    lists = [*COMMON.items(), *FORMS.items(), *ASIDES.items(), ("duties", DUTIES)]
    for topic in TOPICS:
        lists += topic.lists().items()
        lists += [("event", event.wordings) for event in topic.events]
    return [(name, template) for name, templates in lists for template in templates]


def test_every_slot_of_every_template_can_be_filled():
    settled = {"place", "region", "outlet", "saint", "day", "move", "sum", "share", "win", "sets", "rival", "body"}
    settled |= {"speaker_he", "speaker_he_cap", "hero", "second", "third"}
    known = {*settled, *PLAIN, *VOICED, *POOLS, *PRONOUNS, *SPECIAL, *COMMON, *FORMS, *TOPICS[0].lists()}
    unknown = {(slot, template) for _, template in every_template() for slot in slots(template) if slot not in known}
    assert unknown == set()


def test_every_event_has_three_wordings_and_every_matter_an_event():
    for topic in TOPICS:
        assert all(len(event.wordings) == 3 for event in topic.events), topic.name
        names = {matter.rsplit(" | ", 1)[1].rsplit(" ", 1)[-1] for matter in topic.matters}
        suited = {name for event in topic.events for name in event.suits or names}
        assert suited == names, topic.name


def test_every_move_of_every_structure_exists():
    used = {move for one in STRUCTURES for phase in one.phases for move in phase}
    used |= {move for one in STRUCTURES for move in (*one.opening, *one.closing)}
    assert used <= set(MOVES)


@pytest.mark.parametrize("broken", ["{a", "a}", "{a b}", "{a|{b}"])
def test_a_broken_template_is_no_silent_text(broken):
    with pytest.raises(ValueError, match=r"brace|slot"):
        parse(broken)


@pytest.mark.parametrize(
    ("rough", "clean"),
    [
        ("a apple fell near Ann Lee, a cook,", "An apple fell near Ann Lee, a cook."),
        ("an union met at 9 a.m..", "A union met at 9 a.m."),
        ("12 people came", "A total of 12 people came."),
        ("she sold it to Brown & Co. ,", "She sold it to Brown & Co."),
    ],
)
def test_rough_clauses_become_clean_sentences(rough, clean):
    assert sentence(rough) == clean


# --- the user's own articles ---


def csv_of(texts, column="text"):
    return f"id,{column}\n" + "".join(f'{number},"{text}"\n' for number, text in enumerate(texts))


def write_jsonl(path):
    path.write_text("".join(json.dumps({"id": 1, "article": text}) + "\n" for text in STORIES))


def write_strings(path):
    path.write_text("".join(json.dumps(text) + "\n" for text in STORIES))


def write_gzip(path):
    path.write_bytes(gzip.compress("".join(json.dumps({"body": text}) + "\n" for text in STORIES).encode()))


def write_csv(path):
    path.write_text(csv_of(STORIES))


def write_parquet(path):
    parquet.write_table(pa.table({"Content": STORIES}), path)


def write_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("inner/News.csv", csv_of(STORIES))


def write_zip_of_texts(path):
    with zipfile.ZipFile(path, "w") as archive:
        for number, text in enumerate(STORIES):
            archive.writestr(f"{number:03d}.txt", text)


def write_folder(path):
    path.mkdir()
    for number, text in enumerate(STORIES):
        (path / f"{number:03d}.txt").write_text(text)


WAYS = {
    "a.jsonl": write_jsonl,
    "strings.jsonl": write_strings,
    "a.jsonl.gz": write_gzip,
    "a.csv": write_csv,
    "a.parquet": write_parquet,
    "a.zip": write_zip,
    "texts.zip": write_zip_of_texts,
    "folder": write_folder,
}


@pytest.mark.parametrize("name", WAYS)
def test_every_way_to_store_articles_gives_the_same_articles(tmp_path, name):
    WAYS[name](tmp_path / name)
    corpus = read_articles(tmp_path / name)
    assert corpus.texts == tuple(STORIES)
    assert corpus.source == name
    assert corpus.dropped == ()


def test_what_is_left_out_is_counted_by_reason(tmp_path):
    path = tmp_path / "a.csv"
    many = "word " * 80
    book = "A sentence of five words. " * 1_001
    short = ["", "Too short. By far. Really.", f"One. {many}."]
    path.write_text(csv_of([*STORIES, STORIES[3], STORIES[4], *short, book]))
    corpus = read_articles(path)
    assert corpus.texts == tuple(STORIES)
    assert corpus.dropped == (
        "left out 1 article without text",
        "left out 2 articles that repeat another one word for word",
        "left out 2 articles of fewer than 3 sentences or 60 words",
        "left out 1 article of more than 5,000 words",
    )


def refusals():
    latin = csv_of(STORIES).encode().replace(b"town 7", b"town \xe9")
    yield "a.csv", latin, "is not UTF-8"
    yield "a.csv", csv_of(STORIES, "words").encode(), "no column holds articles (columns: id, words)"
    yield "a.csv", csv_of(STORIES[:49]).encode(), "only 49 usable articles"
    yield "a.csv", b"", "the file is empty"
    yield "a.docx", b"PK", "unsupported file extension"
    yield "a.jsonl", b'"one"\n{"text": 1}\n', "line 2: the line is no JSON string"
    yield "a.jsonl", b'{"text": 1}\n' * 60, 'column "text" holds "1", which is no text'
    yield "a.zip", b"no archive", "cannot be unpacked"
    yield "a.parquet", b"no parquet", "not Parquet"
    yield "missing.csv", None, "no such file"
    yield "missing.zip", None, "there is no such file"


@pytest.mark.parametrize(("name", "content", "said"), list(refusals()))
def test_files_that_are_no_use_are_refused_with_a_reason(tmp_path, name, content, said):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=re.escape(said)):
        read_articles(tmp_path / name)


def test_a_folder_names_every_file_that_is_broken(tmp_path):
    write_folder(tmp_path / "news")
    for name in ("003.txt", "007.txt"):
        (tmp_path / "news" / name).write_bytes(b"caf\xe9")
    with pytest.raises(DataError) as caught:
        read_articles(tmp_path / "news")
    assert [problem.where for problem in caught.value.problems] == ["003.txt", "007.txt"]


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"no \.txt file"):
        read_articles(tmp_path)


def test_an_archive_of_two_tables_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", csv_of(STORIES))
        archive.writestr("b.csv", csv_of(STORIES))
    with pytest.raises(DataError, match=re.escape("the archive holds a.csv, b.csv")):
        read_articles(tmp_path / "a.zip")
