"""Which of a user's columns is which: exact names, names given by --map, and common aliases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deconfound.errors import Problem, UsageError
from deconfound.formatting import did_you_mean, join_names, quote

ALIASES: dict[str, tuple[str, ...]] = {
    "context_id": ("prompt_id", "query_id", "question_id", "input_id", "request_id", "item_id", "task_id", "id"),
    "context": ("prompt", "query", "input", "question", "instruction", "request"),
    "model": ("model_name", "model_id", "arm", "engine", "agent", "llm", "variant"),
    "output": ("response", "completion", "answer", "generation", "reply", "generated_text"),
    "outcome": ("score", "rating", "reward", "thumbs_up", "label", "feedback", "y"),
    "cluster": ("user", "user_id", "session", "session_id", "conversation_id", "customer_id", "account_id"),
    "propensity": ("propensity_score", "pscore", "probability", "assignment_probability"),
    "time": ("timestamp", "datetime", "created_at"),
    "draw": ("sample", "sample_id", "draw_id", "replicate", "repetition"),
}
BARE_ID = "id"  # in many logs it numbers the rows, so it names contexts only where their text cannot

RELEVANT: dict[str, tuple[str, ...]] = {
    "log": ("context_id", "context", "model", "output", "outcome", "cluster", "time"),
    "experiment": ("context_id", "context", "model", "output", "outcome", "cluster", "time", "propensity"),
    "replay": ("context_id", "context", "model", "output", "draw"),
    "target": ("context_id", "context", "cluster"),
}
PREFIXES: dict[str, tuple[str, ...]] = {
    "log": ("label_", "feature_"),
    "experiment": ("feature_", "propensity_"),
    "replay": ("feature_",),
    "target": ("feature_",),
}
ALL_PREFIXES = ("label_", "feature_", "propensity_")


@dataclass(frozen=True, slots=True)
class Naming:
    """Canonical name -> the user's column; ``guessed`` are those found by alias, ``ignored`` the columns not used."""

    columns: dict[str, str]
    guessed: dict[str, str]
    ignored: tuple[str, ...]


def check_mapping(mapping: Mapping[str, str]) -> None:
    """Refuse a mapping of a name that no table has."""
    for name in mapping:
        if name not in ALIASES and not (name.startswith(ALL_PREFIXES) and not name.endswith("_")):
            known = (*ALIASES, *(f"{prefix}*" for prefix in ALL_PREFIXES))
            raise UsageError(
                f"--map: there is no column {quote(name)}{did_you_mean(name, known)} Known: {join_names(known)}."
            )


def normal(name: str) -> str:
    """Forget what people vary in a column's name: case, blanks and hyphens."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def candidates(name: str, present: Sequence[str], *, bare_id: bool) -> list[str]:
    """Find the columns that may stand for a canonical name, the surest kind only."""
    if name in present:
        return [name]
    varied = [column for column in present if normal(column) == name]
    known = [alias for alias in ALIASES[name] if bare_id or alias != BARE_ID]
    aliased = [column for column in present if normal(column) in known]
    surer = [column for column in aliased if normal(column) != BARE_ID]
    return varied or surer or aliased


@dataclass(frozen=True, slots=True)
class Finder:
    """How to name the columns of one table."""

    role: str
    source: str
    mapping: Mapping[str, str]
    bare_id: bool

    def name_columns(self, present: Sequence[str], problems: list[Problem]) -> Naming:
        """Settle every column of the table, or say which cannot be settled."""
        columns = {name: there for name, there in self.mapping.items() if there in present and self._concerns(name)}
        guessed: dict[str, str] = {}
        for name in RELEVANT[self.role]:
            if name in columns:
                continue
            found = [name] if name in present else []
            if name not in self.mapping:
                found = candidates(name, present, bare_id=self.bare_id)
            if len(found) > 1:
                problems.append(self._ambiguous(name, found))
            elif found:
                columns[name] = found[0]
                if found[0] != name:
                    guessed[name] = found[0]
        taken = set(columns.values())
        columns |= {c: c for c in present if c not in taken and c not in columns and self._is_kind(c)}
        problems += self._required(columns, present)
        used = set(columns.values())
        return Naming(columns, guessed, tuple(column for column in present if column not in used))

    def _concerns(self, name: str) -> bool:
        return name in RELEVANT[self.role] or name.startswith(PREFIXES[self.role])

    def _is_kind(self, column: str) -> bool:
        """Whether a column is a label, a feature or one model's propensity by its name alone."""
        return column.startswith(PREFIXES[self.role]) and normal(column) not in ALIASES["propensity"]

    def _ambiguous(self, name: str, found: list[str]) -> Problem:
        what = f"columns {join_names(found)} may all be the {name}"
        return Problem(self.source, what, f"Say which with --map {name}={found[0]}.")

    def _required(self, columns: Mapping[str, str], present: Sequence[str]) -> list[Problem]:
        needed: list[str] = [name for name in ("model", "outcome") if name in RELEVANT[self.role]]
        if "context" not in columns and "context_id" not in columns:
            needed.append("context")
        if "output" in RELEVANT[self.role] and not any(name.startswith("feature_") for name in columns):
            needed.append("output")
        lacking = [name for name in needed if name not in columns]
        ambiguous = [n for n in lacking if len(candidates(n, present, bare_id=self.bare_id)) > 1]
        return [self._missing(name, present) for name in lacking if name not in ambiguous or name in self.mapping]

    def _missing(self, name: str, present: Sequence[str]) -> Problem:
        asked = self.mapping.get(name)
        alternative = " (or context_id)" if name == "context" else " (or feature_* columns)" if name == "output" else ""
        what = f"there is no column for the {name}{alternative}"
        offer = did_you_mean(name, present).rstrip("?")
        if asked:
            what = f"there is no column {quote(asked)}, to which {name} is mapped"
            offer = did_you_mean(asked, present).rstrip("?")
        return Problem(
            self.source, f"{what}; the columns are {join_names(present)}{offer}", f"Use --map {name}=COLUMN."
        )


def unmatched(mapping: Mapping[str, str], tables: Mapping[str, tuple[str, Sequence[str]]]) -> dict[str, Problem]:
    """Find the mappings that no table can follow; ``tables`` gives each role its source and columns."""
    problems = {}
    for name, column in mapping.items():
        roles = [r for r in tables if name in RELEVANT[r] or name.startswith(PREFIXES[r])]
        if not roles or any(column in tables[r][1] for r in roles):
            continue
        present = list(dict.fromkeys(c for r in roles for c in tables[r][1]))
        what = f"there is no column {quote(column)}, to which {name} is mapped; the columns are {join_names(present)}"
        offer = did_you_mean(column, present).rstrip("?")
        problems[name] = Problem(join_names(tables[r][0] for r in roles), what + offer, f"Use --map {name}=COLUMN.")
    return problems
