"""Small generated grids of each kind, in the format of real ones, whose words correlate with their components."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Kind = Literal["summarization", "coding", "instructions"]
Row = dict[str, object]
GridRows = tuple[list[Row], list[Row]]  # contexts, outputs

NAMES = ("Lead-3 (ext)", "Pointer", "Bottom-Up", "TRAE+Seed", "mini-agent", "gemma-7b", "phi-2", "Unified-abs")
CONTEXT_COLUMNS = {
    "summarization": ("context_id", "context", "reference"),
    "coding": ("context_id", "repo", "context", "gold_patch"),
    "instructions": ("context_id", "context", "source"),
}
KINDS = tuple(CONTEXT_COLUMNS)
COUNTS = ("n_files", "n_hunks", "lines_added", "lines_removed", "patch_chars")
COMPONENTS = {
    "summarization": {"faithfulness", "coverage", "clarity", "conciseness", "unsupported_claims"},
    "coding": {"has_patch", "resolved", *COUNTS},
    "instructions": {"preference"},
}


def write_grid(directory: Path, contexts: int = 12, models: int = 5, seed: int = 0, kind: Kind = "summarization"):
    """Write ``contexts.parquet`` and ``outputs.parquet`` of a valid grid; equal arguments give equal bytes."""
    write_rows(directory, *make_rows(contexts, models, seed, kind))


def make_rows(contexts: int = 12, models: int = 5, seed: int = 0, kind: Kind = "summarization") -> GridRows:
    """The rows of such a grid; more contexts or models do not change the first ones."""
    context = {"summarization": _article, "coding": _issue, "instructions": _prompt}[kind]
    output = {"summarization": _summary, "coding": _patch, "instructions": _answer}[kind]
    seeds = [seed, list(CONTEXT_COLUMNS).index(kind)]
    names = [NAMES[m % len(NAMES)] + (f" v{m // len(NAMES) + 1}" if m >= len(NAMES) else "") for m in range(models)]
    skills = [np.random.default_rng([*seeds, 1, m]).uniform(0.1, 0.9, 4) for m in range(models)]
    context_rows, output_rows = [], []
    for c in range(contexts):
        source = context(np.random.default_rng([*seeds, 2, c]), c)
        context_rows.append({name: source[name] for name in CONTEXT_COLUMNS[kind]})
        for m, name in enumerate(names):
            rng = np.random.default_rng([*seeds, 3, c, m])
            output_rows.append({"context_id": source["context_id"], "model": name, **output(rng, source, skills[m])})
    return context_rows, output_rows


def write_example_grids(directory: Path) -> None:
    """One grid of each kind; in that of summaries, some models copy others and one output occurs on two contexts."""
    contexts, outputs = make_rows(12, 6)
    models = sorted({row["model"] for row in outputs})
    by_cell = {(row["context_id"], row["model"]): row for row in outputs}
    ids = [row["context_id"] for row in contexts]
    for target, source in (((0, 1), (0, 0)), ((0, 4), (0, 0)), ((5, 2), (5, 3)), ((7, 0), (0, 0))):
        copied = by_cell[ids[source[0]], models[source[1]]]["output"]
        by_cell[ids[target[0]], models[target[1]]]["output"] = copied
    write_rows(directory / "summaries", contexts, outputs)
    write_grid(directory / "patches", 10, 4, kind="coding")
    write_grid(directory / "answers", 10, 4, kind="instructions")


def write_rows(directory: Path, contexts: list[Row], outputs: list[Row], suffix: str = "parquet") -> None:
    """Write rows, valid or not, in one of the formats that can be read."""
    directory.mkdir(parents=True, exist_ok=True)
    for role, rows in (("contexts", contexts), ("outputs", outputs)):
        path = directory / f"{role}.{suffix}"
        if suffix == "parquet":
            pq.write_table(_table(rows), path)
        elif suffix == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        else:
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)


def written(directory: Path, rows: GridRows, suffix: str = "parquet") -> Path:
    """The folder with these rows as a grid."""
    write_rows(directory, *rows, suffix)
    return directory


def _table(rows: list[Row]) -> pa.Table:
    table = pa.Table.from_pylist(rows)
    large = [pa.field(f.name, pa.large_string() if pa.types.is_string(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(large))


def _pick(rng: np.random.Generator, words: tuple[str, ...]) -> str:
    return words[int(rng.integers(len(words)))]


# --- summaries of news ---

TOWNS = ("Harwick", "Lundby", "Port Amsel", "Tarn", "Elmstead", "Kessel", "Orrin", "Velby")
PEOPLE = ("Mara Quist", "Tom Arden", "Ines Falk", "Jonah Reed", "Lena Brandt", "Amir Dost", "Ruth Okoro")
THINGS = ("bridge", "harbour", "school", "library", "tram line", "hospital", "market hall", "reservoir")
POINTS = (
    "The council of {town} voted on Monday to rebuild its {thing}.",
    "The work will cost {cost} million pounds and take {years} years.",
    "{who}, who leads the council, said the old {thing} was no longer safe.",
    "Residents near the {thing} fear noise and closed roads.",
    "Builders may begin in spring if the state approves the plan.",
)
ASIDES = (
    "The {thing} was opened when {town} had half as many people.",
    "A café across the road has served the same soup since then.",
    "Visitors often take photographs of the {thing} in the evening.",
)
INVENTED = (
    "Police secretly arrested {who} in a casino.",
    "Aliens were blamed for the collapse of {town}.",
    "The king promised a billion dollars in cash.",
    "A volcano swallowed the {thing} overnight.",
)
FILLER = (
    "Basically, as everyone knows, there is a lot to say here.",
    "It goes without saying that time will tell.",
    "Needless to say, again, many things happened.",
)
CLUMSY = ("thing which also also", "um it that of was", "and and such wise being")


def _article(rng: np.random.Generator, number: int) -> Row:
    facts = {"town": _pick(rng, TOWNS), "who": _pick(rng, PEOPLE), "thing": _pick(rng, THINGS)}
    facts |= {"cost": str(number + 3), "years": str(rng.integers(2, 9))}
    points = [point.format(**facts) for point in POINTS]
    aside = [text.format(**facts) for text in ASIDES]
    sentences = [points[0], points[1], aside[0], points[2], aside[1], points[3], aside[2], points[4]]
    return {
        "context_id": f"art-{number:03d}",
        "context": " ".join(sentences),
        "reference": " ".join(points[:3]),
        "facts": facts,
        "points": points,
    }


def _summary(rng: np.random.Generator, article: Row, skill: np.ndarray) -> Row:
    """Some points of the article, invented claims, clumsy sentences and filler; each component counts one of these."""
    points, facts = article["points"], article["facts"]
    included = np.sort(rng.permutation(len(points))[: 1 + int(rng.binomial(len(points) - 1, skill[1]))])
    faults = (1 - skill[[0, 2, 3]]) * (0.25, 0.6, 0.6)
    claims, clumsy, filler = (int(count) for count in rng.binomial((4, 3, 3), faults))
    sentences = [points[at] for at in included]
    sentences += [INVENTED[at].format(**facts) for at in rng.permutation(len(INVENTED))[:claims]]
    sentences += [f"{_pick(rng, CLUMSY).capitalize()}." for _ in range(clumsy)]
    sentences += [FILLER[at] for at in rng.permutation(len(FILLER))[:filler]]
    return {
        "output": " ".join(sentences),
        "faithfulness": round(1 - claims / (claims + len(included)), 6),
        "coverage": round(len(included) / len(points), 6),
        "clarity": round(1 - clumsy / 3, 6),
        "conciseness": round(1 - filler / 4, 6),
        "unsupported_claims": claims,
    }


# --- patches for issues ---

REPOS = ("birds/feeder", "tide/charts", "loom/weave", "kiln/glaze")
MODULES = ("parser", "cache", "layout", "dates", "router", "units")
FUNCTIONS = ("split_range", "load_table", "merge_rows", "round_time", "find_route", "scale_values")
LINES = (
    ("    last = len(rows) - 1", "    last = len(rows)"),
    ("    if value > limit:", "    if value >= limit:"),
    ("    total = first", "    total = first + offset"),
    ("    return key.lower()", "    return key.strip().lower()"),
)


def _issue(rng: np.random.Generator, number: int) -> Row:
    repo = _pick(rng, REPOS)
    module, function = _pick(rng, MODULES), _pick(rng, FUNCTIONS)
    wrong, right = LINES[int(rng.integers(len(LINES)))]
    package = repo.split("/")[1]
    path, at = f"{package}/{module}.py", 10 + number
    issue = (
        f"`{function}` gives a wrong result in {path}\r\n\r\nCalling `{package}.{module}.{function}` with "
        f"{number + 2} rows drops the last one.\r\n\r\n```python\r\n>>> {function}(range({number + 2}))\r\n```\r\n\r\n"
        f"I expected nothing to be lost. It seems that `{wrong.strip()}` in `{function}` is to blame.\r\n"
    )
    row = {"context_id": f"{repo.replace('/', '__')}-{1000 + number}", "repo": repo, "context": issue}
    row |= {"path": path, "function": function, "line": wrong, "right": right, "at": at}
    return {**row, "gold_patch": _hunk(path, at, row, [right])}


def _hunk(path: str, at: int, issue: Row, added: list[str]) -> str:
    """One file's diff that replaces the faulty line by ``added``."""
    before, after = [f"def {issue['function']}(rows, limit=3):", "    offset = 1"], ["    return total"]
    body = [*(f" {t}" for t in before), f"-{issue['line']}", *(f"+{t}" for t in added), *(f" {t}" for t in after)]
    head = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
    return head + "\n".join([f"@@ -{at},4 +{at},{3 + len(added)} @@ import math", *body]) + "\n"


def _new_file(path: str, lines: list[str]) -> str:
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    return head + "\n".join([f"@@ -0,0 +1,{len(lines)} @@", *(f"+{line}" for line in lines)]) + "\n"


def _patch(rng: np.random.Generator, issue: Row, skill: np.ndarray) -> Row:
    """Sometimes empty; otherwise a real fix, or an exception handler in the right file or a wrong one."""
    uniform = rng.random(4)
    gives_up, mends = uniform[0] < 0.08, uniform[1] < skill[0]
    hidden = ["    try:", f"    {issue['line']}", "    except Exception:", "        pass"]
    path = str(issue["path"]) if mends or uniform[2] < 0.5 else "setup.py"
    patch = "" if gives_up else _hunk(path, int(str(issue["at"])), issue, [str(issue["right"])] if mends else hidden)
    if patch and uniform[3] < skill[1] / 2:
        patch += _new_file("reproduce_issue.py", ["import sys", f"print('{issue['function']}')", "sys.exit(0)"])
    lines = patch.splitlines()
    counts = (
        patch.count("diff --git "),
        sum(line.startswith("@@ ") for line in lines),
        sum(line.startswith("+") and not line.startswith("+++") for line in lines),
        sum(line.startswith("-") and not line.startswith("---") for line in lines),
        len(patch),
    )
    resolved = bool(patch) and bool(rng.random() < (0.95 if mends else 0.05))
    return {"output": patch, "has_patch": bool(patch), "resolved": resolved, **dict(zip(COUNTS, counts, strict=True))}


# --- answers to instructions ---

SUBJECTS = ("baking bread", "learning chess", "cycling to work", "growing tomatoes", "writing letters", "saving water")
READERS = ("a child", "my grandmother", "a new colleague", "an impatient friend")
SOURCES = ("selfinstruct", "oasst", "koala", "helpful_base", "vicuna")
ADVICE = (
    "Start with {subject} in small steps and note what works.",
    "Choose good tools before {subject}; a poor one costs more time.",
    "Ask somebody with experience in {subject} for one honest opinion.",
    "Keep a fixed hour each day, because habit carries {subject} further than zeal.",
    "Check the result after a week and change one thing at a time.",
    "Expect mistakes, and write down how each was mended.",
)
EVASIONS = ("As a language model I cannot say much about that.", "It depends.", "Sorry, I am not sure what you mean.")


def _prompt(rng: np.random.Generator, number: int) -> Row:
    subject, reader = _pick(rng, SUBJECTS), _pick(rng, READERS)
    wants_list = bool(rng.random() < 0.5)
    text = f"Give me {number + 3} tips for {subject}, as a list for {reader}." if wants_list else ""
    text = text or f"Explain {subject} to {reader} in about {60 + number} words.\n\nPlain text please."
    row = {"context_id": f"p{number:03d}", "context": text, "source": _pick(rng, SOURCES)}
    return {**row, "subject": subject, "wants_list": wants_list}


def _answer(rng: np.random.Generator, prompt: Row, skill: np.ndarray) -> Row:
    """Advice or an evasion, as a list or in prose; preference depends on the advice and the requested form."""
    count = int(rng.binomial(len(ADVICE), skill[0]))
    advice = [ADVICE[at].format(subject=prompt["subject"]) for at in rng.permutation(len(ADVICE))[:count]]
    as_list, headed = bool(rng.random() < skill[1]), bool(rng.random() < skill[2])
    text = "\n".join(f"{n}. {line}" for n, line in enumerate(advice, 1)) if as_list else " ".join(advice)
    text = text if advice else _pick(rng, EVASIONS)
    text = f"## About {prompt['subject']}\n\n{text}" if headed else text
    merit = 0.9 * count - 3.2 + (1.0 if as_list == prompt["wants_list"] else -1.0) + 0.5 * headed
    return {"output": text, "preference": float(1 / (1 + np.exp(-merit - 0.3 * rng.standard_normal())))}
