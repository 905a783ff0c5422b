"""The user's own articles, from one file or a folder of text files."""

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

COLUMNS = ("text", "article", "content", "body")
LEAST_ARTICLES = 50
LEAST_WORDS = 60
LEAST_SENTENCES = 3
MOST_WORDS = 5_000  # rankings compare sentences with each other; a book would keep them busy for days
SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*(?=\s|$)")
INSIDE_ZIP = (".csv", ".jsonl", ".txt")


def read_articles(path: Path) -> Corpus:
    """Read articles and keep those that can be summarized, each once.

    ``path`` is a .csv, .jsonl or .parquet file (the first two also with .gz or .zst) with its texts in a column called
    text, article, content or body; a .jsonl file with one string a line; a .zip that holds one such file or any number
    of .txt files; or a folder of .txt files.
    """
    path = Path(path)
    texts = _folder(path) if path.is_dir() else _zip(path) if path.suffix.lower() == ".zip" else _file(path, path.name)
    kept, dropped = _usable(texts)
    if len(kept) < LEAST_ARTICLES:
        left_out = f" ({'; '.join(dropped)})" if dropped else ""
        what = f"only {pluralize(len(kept), 'usable article')}{left_out}"
        raise _refusal(path.name, what, f"The benchmark needs at least {LEAST_ARTICLES} different articles.")
    return Corpus(tuple(kept), path.name, digest(kept), dropped)


def _usable(texts: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
    """Sort out what cannot be summarized, and count it by reason."""
    reasons = {"empty": 0, "repeated": 0, "shorter": 0, "longer": 0}
    kept: dict[str, None] = {}
    for text in (each.strip() for each in texts):
        if not text:
            reasons["empty"] += 1
        elif text in kept:
            reasons["repeated"] += 1
        elif len(text.split()) < LEAST_WORDS or len(SENTENCE_END.findall(text)) < LEAST_SENTENCES:
            reasons["shorter"] += 1
        elif len(text.split()) > MOST_WORDS:
            reasons["longer"] += 1
        else:
            kept[text] = None
    said = {
        "empty": "without text",
        "repeated": "that repeat another one word for word",
        "shorter": f"of fewer than {LEAST_SENTENCES} sentences or {LEAST_WORDS} words",
        "longer": f"of more than {MOST_WORDS:,} words",
    }
    dropped = (f"left out {pluralize(count, 'article')} {said[name]}" for name, count in reasons.items() if count)
    return list(kept), tuple(dropped)


def _folder(folder: Path) -> list[str]:
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


def _zip(path: Path) -> list[str]:
    """Unpack an archive where nobody sees it, and read what it holds by the same rules."""
    try:
        with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as scratch:
            inside = [name for name in archive.namelist() if Path(name).suffix.lower() in INSIDE_ZIP]
            tables = [name for name in inside if not name.lower().endswith(".txt")]
            if len(tables) > 1 or not inside:
                what = f"the archive holds {join_names(archive.namelist()) or 'nothing'}"
                raise _refusal(path.name, what, "It must hold one .csv or .jsonl file, or .txt files.")
            archive.extractall(scratch, tables or inside)
            if tables:
                return _file(Path(scratch) / tables[0], f"{path.name}/{tables[0]}")
            return _folder(Path(scratch))
    except FileNotFoundError:
        raise _refusal(path.name, "there is no such file", "Check the name and the folder.") from None
    except (zipfile.BadZipFile, RuntimeError, OSError) as error:
        what = f"the archive cannot be unpacked: {quote(error)}"
        raise _refusal(path.name, what, "Pack it again, without a password.") from None


def _file(path: Path, name: str) -> list[str]:
    from deconfound.loading.files import read_text, resolve_file
    from deconfound.loading.sources import read_table

    if ".jsonl" in path.suffixes and path.is_file() and path.stat().st_size:
        strings = _strings(read_text(resolve_file(path, name)), name)
        if strings is not None:
            return strings
    table = read_table(path, "articles", name).arrow
    found = {column.strip().lower(): column for column in table.column_names}
    usable = [found[column] for column in COLUMNS if column in found]
    if not usable:
        what = f"no column holds articles (columns: {join_names(table.column_names)})"
        raise _refusal(name, what, f"Call the column with the texts {quote(COLUMNS[0])}.")
    values: Sequence[object] = table[usable[0]].to_pylist()
    wrong = next((row for row, value in enumerate(values, 1) if not isinstance(value, str | None)), None)
    if wrong is not None:
        what = f"column {quote(usable[0])} holds {quote(values[wrong - 1])}, which is no text"
        raise _refusal(f"{name} row {wrong}", what, "Write every article as text.")
    return [value if isinstance(value, str) else "" for value in values]


def _strings(data: bytes, name: str) -> list[str] | None:
    """Read a file of one JSON string a line; None where its first line is something else."""
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
            what = f"the line is no JSON string: {quote(line[:200].decode(errors='replace'))}"
            raise _refusal(f"{name} line {number}", what, "Write one string on each line, or one object.")
        texts.append(text)
    return texts


def _refusal(where: str, what: str, fix: str) -> DataError:
    return DataError([Problem(where, what, fix)])
