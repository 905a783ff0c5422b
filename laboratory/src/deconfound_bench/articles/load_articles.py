"""Load the user's own articles from a file, a ZIP archive or a folder of text files."""

from __future__ import annotations

import json
import re
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from deconfound.errors import DataError, Problem
from deconfound.formatting import join_names, pluralize, quote
from deconfound_bench.articles.corpus import Corpus, digest

TEXT_COLUMNS = ("text", "article", "content", "body")
MIN_ARTICLES = 50  # with fewer, training, evaluation and truth would each have only a handful
MIN_WORDS = 60  # shorter texts are their own summary
MIN_SENTENCES = 3
MAX_WORDS = 5_000  # some summarizers compare all pairs of sentences, which would take days for a book
SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*(?=\s|$)")
ZIP_MEMBERS = (".csv", ".jsonl", ".txt")


def read_articles(path: Path) -> Corpus:
    """Read articles and drop duplicates and those that cannot be summarized.

    ``path`` is one of these:

    - a .csv, .jsonl or .parquet file with its texts in a column called text, article, content or body (.csv and .jsonl
      also with .gz or .zst);
    - a .jsonl file with one string per line;
    - a .zip archive of one .csv or .jsonl file, or of .txt files;
    - a folder of .txt files.
    """
    path = Path(path)
    if path.is_dir():
        texts = _read_folder(path)
    elif path.suffix.lower() == ".zip":
        texts = _read_zip(path)
    else:
        texts = _read_file(path, path.name)
    usable, dropped = _drop_unusable(texts)
    if len(usable) < MIN_ARTICLES:
        reasons = f" ({'; '.join(dropped)})" if dropped else ""
        what = f"only {pluralize(len(usable), 'usable article')}{reasons}"
        raise _refusal(path.name, what, f"The benchmark needs at least {MIN_ARTICLES} different articles.")
    return Corpus(tuple(usable), path.name, digest(usable), dropped)


def _drop_unusable(texts: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
    """Separate the articles that can be summarized, and count the others by reason."""
    empty, repeated, short, long = (
        "without text",
        "that repeat another one word for word",
        f"of fewer than {MIN_SENTENCES} sentences or {MIN_WORDS} words",
        f"of more than {MAX_WORDS:,} words",
    )
    counts = {empty: 0, repeated: 0, short: 0, long: 0}
    usable: dict[str, None] = {}
    for text in (each.strip() for each in texts):
        if not text:
            counts[empty] += 1
        elif text in usable:
            counts[repeated] += 1
        elif len(text.split()) < MIN_WORDS or len(SENTENCE_END.findall(text)) < MIN_SENTENCES:
            counts[short] += 1
        elif len(text.split()) > MAX_WORDS:
            counts[long] += 1
        else:
            usable[text] = None
    dropped = (f"left out {pluralize(count, 'article')} {reason}" for reason, count in counts.items() if count)
    return list(usable), tuple(dropped)


def _read_folder(folder: Path) -> list[str]:
    paths = sorted(folder.rglob("*.txt"))
    if not paths:
        raise _refusal(folder.name, "there is no .txt file in this folder", "Put one article in each .txt file.")
    problems, texts = [], []
    for path in paths:
        try:
            texts.append(path.read_bytes().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            where = path.relative_to(folder).as_posix()
            problems.append(Problem(where, f"byte {error.start + 1} is not UTF-8", "Save the file as UTF-8."))
        except OSError as error:
            problems.append(Problem(path.name, f"cannot be opened: {error.strerror}", "Check its permissions."))
    if problems:
        raise DataError(problems)
    return texts


def _read_zip(path: Path) -> list[str]:
    """Read an archive by the same rules as files and folders, from a temporary folder."""
    try:
        with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as scratch:
            members = [name for name in archive.namelist() if Path(name).suffix.lower() in ZIP_MEMBERS]
            tables = [name for name in members if not name.lower().endswith(".txt")]
            if len(tables) > 1 or not members:
                what = f"the archive contains {join_names(archive.namelist()) or 'no file'}"
                raise _refusal(path.name, what, "It must contain one .csv or .jsonl file, or .txt files.")
            archive.extractall(scratch, tables or members)
            if tables:
                return _read_file(Path(scratch) / tables[0], f"{path.name}/{tables[0]}")
            return _read_folder(Path(scratch))
    except FileNotFoundError:
        raise _refusal(path.name, "there is no such file", "Check the name and the folder.") from None
    except (zipfile.BadZipFile, RuntimeError, OSError) as error:
        what = f"the archive cannot be unpacked: {quote(error)}"
        raise _refusal(path.name, what, "Pack it again, without a password.") from None


def _read_file(path: Path, name: str) -> list[str]:
    from deconfound.loading.files import read_text, resolve_file
    from deconfound.loading.sources import read_table

    if ".jsonl" in path.suffixes and path.is_file() and path.stat().st_size:
        strings = _read_strings(read_text(resolve_file(path, name)), name)
        if strings is not None:
            return strings
    table = read_table(path, "articles", name).arrow
    columns = {column.strip().lower(): column for column in table.column_names}
    text_columns = [columns[column] for column in TEXT_COLUMNS if column in columns]
    if not text_columns:
        what = f"no column contains articles (columns: {join_names(table.column_names)})"
        raise _refusal(name, what, f"Call the column with the texts {quote(TEXT_COLUMNS[0])}.")
    values: Sequence[object] = table[text_columns[0]].to_pylist()
    for row, value in enumerate(values, 1):
        if not isinstance(value, str | None):
            what = f"column {quote(text_columns[0])} contains {quote(value)}, which is not a text"
            raise _refusal(f"{name} row {row}", what, "Write every article as text.")
    return [value if isinstance(value, str) else "" for value in values]


def _read_strings(data: bytes, name: str) -> list[str] | None:
    """Read a file with one JSON string per line; None if its first line is not a string."""
    if not data.lstrip().startswith(b'"'):
        return None
    texts = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            text = json.loads(line)
        except ValueError:
            text = None
        if not isinstance(text, str):
            what = f"the line is not a JSON string: {quote(line[:200].decode(errors='replace'))}"
            raise _refusal(f"{name} line {number}", what, "Write one string per line, or one object per line.")
        texts.append(text)
    return texts


def _refusal(where: str, what: str, fix: str) -> DataError:
    return DataError([Problem(where, what, fix)])
