"""The user's own articles: read from many formats, filtered, and refused with a reason."""

from __future__ import annotations

import gzip
import json
import re
import zipfile

import pyarrow as pa
import pytest
from deconfound_bench.articles import read_articles
from pyarrow import parquet

from deconfound.errors import DataError

STORY = (
    "The council of {} met on Monday and talked for hours. " + "It heard about the roof, the road and the river. " * 6
)
STORIES = [STORY.format(f"town {number}").strip() for number in range(60)]


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


WRITERS = {
    "a.jsonl": write_jsonl,
    "strings.jsonl": write_strings,
    "a.jsonl.gz": write_gzip,
    "a.csv": write_csv,
    "a.parquet": write_parquet,
    "a.zip": write_zip,
    "texts.zip": write_zip_of_texts,
    "folder": write_folder,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_articles(tmp_path, name):
    WRITERS[name](tmp_path / name)
    corpus = read_articles(tmp_path / name)
    assert corpus.texts == tuple(STORIES)
    assert corpus.source == name
    assert corpus.dropped == ()


def test_dropped_articles_are_counted_by_reason(tmp_path):
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
    yield "a.csv", csv_of(STORIES, "words").encode(), "no column contains articles (columns: id, words)"
    yield "a.csv", csv_of(STORIES[:49]).encode(), "only 49 usable articles"
    yield "a.csv", b"", "the file is empty"
    yield "a.docx", b"PK", "unsupported file extension"
    yield "a.jsonl", b'"one"\n{"text": 1}\n', "line 2: the line is not a JSON string"
    yield "a.jsonl", b'{"text": 1}\n' * 60, 'column "text" contains "1", which is not a text'
    yield "a.zip", b"no archive", "cannot be unpacked"
    yield "a.parquet", b"no parquet", "not Parquet"
    yield "missing.csv", None, "no such file"
    yield "missing.zip", None, "no such file"


@pytest.mark.parametrize(("name", "content", "message"), list(refusals()))
def test_an_unusable_file_is_refused_with_a_reason(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=re.escape(message)):
        read_articles(tmp_path / name)


def test_every_broken_file_of_a_folder_is_named(tmp_path):
    write_folder(tmp_path / "news")
    for name in ("003.txt", "007.txt"):
        (tmp_path / "news" / name).write_bytes(b"caf\xe9")
    with pytest.raises(DataError) as caught:
        read_articles(tmp_path / "news")
    assert [problem.where for problem in caught.value.problems] == ["003.txt", "007.txt"]


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"no \.txt file"):
        read_articles(tmp_path)


def test_an_archive_with_two_tables_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", csv_of(STORIES))
        archive.writestr("b.csv", csv_of(STORIES))
    with pytest.raises(DataError, match=re.escape("the archive contains a.csv, b.csv")):
        read_articles(tmp_path / "a.zip")
