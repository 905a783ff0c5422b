"""Which of a user's columns is which: exact names, names given by --map, and common aliases."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from deconfound.data import SEGMENT_PREFIX
from deconfound.errors import Problem, UsageError
from deconfound.formatting import did_you_mean, join_names, join_noted_names, quote, shell_argument, similar_name
from deconfound.loading.raw import PartialColumn
from deconfound.loading.table_scope import in_scope, split_scope

ALIASES: dict[str, tuple[str, ...]] = {
    "context_id": ("prompt_id", "query_id", "question_id", "input_id", "request_id", "item_id", "task_id", "id"),
    "context": ("prompt", "query", "input", "question", "instruction", "request"),
    "model": ("model_name", "model_id", "arm", "engine", "agent", "llm", "variant"),
    "output": ("response", "completion", "answer", "generation", "reply", "generated_text"),
    "outcome": (
        *("score", "rating", "reward", "thumbs_up", "thumbs", "stars", "vote", "user_rating", "label", "feedback", "y"),
    ),
    "cluster": ("user", "user_id", "session", "session_id", "conversation_id", "customer_id", "account_id"),
    "propensity": ("propensity_score", "pscore", "probability", "assignment_probability"),
    "time": ("timestamp", "datetime", "created_at"),
    "draw": ("sample", "sample_id", "draw_id", "replicate", "repetition"),
}
ID_ALIAS = "id"  # in many logs it numbers the rows, so it is a context_id only where the contexts have no text

COLUMNS_BY_ROLE: dict[str, tuple[str, ...]] = {
    "log": ("context_id", "context", "model", "output", "outcome", "cluster", "time"),
    "experiment": ("context_id", "context", "model", "output", "outcome", "cluster", "time", "propensity"),
    "replay": ("context_id", "context", "model", "output", "draw"),
    "target": ("context_id", "context", "cluster"),
    "contexts": ("context_id", "context", "output"),
    "outputs": ("context_id", "context", "model", "output"),
    "segments": ("context_id", "context"),
}
PREFIXES_BY_ROLE: dict[str, tuple[str, ...]] = {
    "log": ("label_", "feature_"),
    "experiment": ("feature_", "propensity_"),
    "replay": ("feature_",),
    "target": ("feature_",),
    "contexts": (),
    "outputs": (),
    "segments": (),
}
ONLY_MAPPED: dict[str, tuple[str, ...]] = {"experiment": ("unit",), "target": ("unit",)}
"""Columns that no name gives away: what models were drawn for is only known from an option."""
ROLES_WITH_SEGMENTS = ("experiment", "replay", "segments")  # where an option may name columns of segments
OF_THE_ANSWER = ("model", "output", "outcome", "propensity")  # no segments: they are known only with the answer
ALL_PREFIXES = ("label_", "feature_", "propensity_", SEGMENT_PREFIX)
INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad]")  # characters that copying from pages leaves in names
NEXT_WORD = re.compile("(?<=[a-z])(?=[A-Z])")
SIMILARITY = 0.82  # "lable_" and "label_" have 0.83, "future_" and "feature_" 0.80
MAX_COMPARED_COLUMNS = 1_000


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Canonical name -> the user's column.

    ``by_alias`` are those found under another name, ``unused`` all other columns, ``missing`` the canonical names that
    the table needs and lacks. ``similar`` are unused columns whose names are close to one that would be used.
    """

    columns: dict[str, str]
    by_alias: dict[str, str]
    unused: tuple[str, ...]
    missing: tuple[str, ...]
    similar: dict[str, str]

    def with_used(self, columns: Collection[str]) -> ColumnMapping:
        """The same, where some of the columns are used for something else: as conditions on rows."""
        unused = tuple(name for name in self.unused if name not in columns)
        return replace(self, unused=unused, similar={n: near for n, near in self.similar.items() if n not in columns})


def check_mapping(mapping: Mapping[str, str]) -> None:
    """Refuse a mapping of a name that is not canonical."""
    for given in mapping:
        _, name = split_scope(given)
        known = (*ALIASES, *ONLY_MAPPED["experiment"])
        if name not in known and not (name.startswith(ALL_PREFIXES) and name not in ALL_PREFIXES):
            names = (*known, *(f"{prefix}*" for prefix in ALL_PREFIXES))
            suggestion = did_you_mean(name, names) or "."
            raise UsageError(
                f"--map: {quote(name)} is not a column that can be mapped{suggestion} Choose from {join_names(names)}."
            )


def normalize_name(name: str) -> str:
    """Remove differences in case, spaces and hyphens from a column's name; modelName is model_name."""
    visible = INVISIBLE.sub("", name).strip()
    return _normalize(NEXT_WORD.sub("_", visible))


def _normalize(text: str) -> str:
    return text.lower().replace(" ", "_").replace("-", "_")


def prefixed_name(column: str, prefixes: Sequence[str]) -> str | None:
    """A column's canonical name by its prefix, which may vary as names do; what follows it stays as it is."""
    if normalize_name(column) in ALIASES["propensity"]:
        return None
    trimmed = column.lstrip()
    matches = (p for p in prefixes if _normalize(trimmed[: len(p)]) == p)
    return next((prefix + trimmed[len(prefix) :] for prefix in matches), None)


def similar_columns(unused: Sequence[str], names: Sequence[str], prefixes: Sequence[str]) -> dict[str, str]:
    """Which unused columns are close to a name or a prefix that would be used; only the first ones of very many."""
    similar = {}
    for column in unused[:MAX_COMPARED_COLUMNS]:
        normalized = normalize_name(column)
        head = normalized.partition("_")[0] + "_"
        near_prefix = difflib.get_close_matches(head, prefixes, n=1, cutoff=SIMILARITY) if head != normalized else []
        near = difflib.get_close_matches(normalized, names, n=1, cutoff=SIMILARITY)
        if near or (near_prefix and normalized not in ALIASES["propensity"]):
            similar[column] = near[0] if near else f"{near_prefix[0]}*"
    return similar


def matching_columns(name: str, present: Sequence[str], *, accept_id_alias: bool) -> list[str]:
    """The columns that may be a canonical one: by exact name, else by normalized name, else by alias."""
    if name in present:
        return [name]
    varied = [column for column in present if normalize_name(column) == name]
    aliases = [alias for alias in ALIASES[name] if accept_id_alias or alias != ID_ALIAS]
    aliased = [column for column in present if normalize_name(column) in aliases]
    preferred = [column for column in aliased if normalize_name(column) != ID_ALIAS]
    return varied or preferred or aliased


@dataclass(frozen=True, slots=True)
class ColumnResolver:
    """Finds the canonical columns of one table; ``mapping`` is what --map says, ``partial`` what some files lack."""

    role: str
    source: str
    mapping: Mapping[str, str]
    accept_id_alias: bool
    partial: Mapping[str, PartialColumn] = field(default_factory=dict)

    def resolve(self, present: Sequence[str], problems: list[Problem]) -> ColumnMapping:
        """Assign every column of the table; ambiguous ones are problems, missing ones are listed."""
        columns = {name: mapped for name, mapped in self.mapping.items() if mapped in present and self._has_role(name)}
        candidates = self._candidates(present, columns)
        problems += [self._ambiguous(name, matches) for name, matches in candidates.items() if len(matches) > 1]
        found = {name: matches[0] for name, matches in candidates.items() if len(matches) == 1}
        columns |= found
        problems += self._segments_of_answers(columns)
        by_alias = {name: column for name, column in found.items() if column != name}
        used = set(columns.values())
        unused = tuple(column for column in present if column not in used)
        free = [name for name in COLUMNS_BY_ROLE[self.role] if name not in columns]
        similar = similar_columns(unused, free, PREFIXES_BY_ROLE[self.role])
        return ColumnMapping(columns, by_alias, unused, self._missing_names(columns, present), similar)

    def _candidates(self, present: Sequence[str], mapped: Mapping[str, str]) -> dict[str, list[str]]:
        """The columns that could be each canonical one that is not mapped yet."""
        candidates: dict[str, list[str]] = {}
        for name in COLUMNS_BY_ROLE[self.role]:
            matches = [name] if name in present else []
            if name not in self.mapping:
                matches = matching_columns(name, present, accept_id_alias=self.accept_id_alias)
            if name == "cluster" and len(matches) > 1 and mapped.get("unit") in matches:
                matches = [mapped["unit"]]
            if matches and name not in mapped:
                candidates[name] = matches
        # A column of segments may be a feature as well.
        used = [column for name, column in mapped.items() if not name.startswith(SEGMENT_PREFIX)]
        taken = {*used, *(matches[0] for matches in candidates.values() if len(matches) == 1)}
        prefixed = self._prefixed(present, taken)
        return candidates | {name: matches for name, matches in prefixed.items() if name not in mapped}

    def _prefixed(self, present: Sequence[str], taken: set[str]) -> dict[str, list[str]]:
        """Canonical names of labels, features and propensities of single models -> the columns that match."""
        found: dict[str, list[str]] = {}
        for column in present:
            name = None if column in taken else prefixed_name(column, PREFIXES_BY_ROLE[self.role])
            if name is not None:
                found.setdefault(name, []).append(column)
        return found

    def _segments_of_answers(self, columns: Mapping[str, str]) -> list[Problem]:
        """Segments must not depend on the answer: within them, models would not be randomized."""
        answers = {columns[name]: f"the {name}" for name in OF_THE_ANSWER if name in columns}
        chosen = [column for name, column in columns.items() if name.startswith(SEGMENT_PREFIX)]
        labels = {column: "a label of the output" for column in chosen if prefixed_name(column, ("label_",))}
        answers = {**labels, **answers}
        fix = "Name columns that describe the request, such as a language or a task."
        return [
            Problem(self.source, f"{quote(column)} is {answers[column]} and cannot divide rows into segments", fix)
            for column in chosen
            if column in answers
        ]

    def _has_role(self, name: str) -> bool:
        """Whether a table of this role can have the canonical column."""
        return _may_have(self.role, name)

    def _ambiguous(self, name: str, matches: list[str]) -> Problem:
        noted = ((column, self._files_without(column)) for column in matches)
        what = f"several columns could be the {name}: {join_noted_names(noted)}"
        return Problem(self.source, what, f"Choose one, for example --map {shell_argument(f'{name}={matches[0]}')}.")

    def _files_without(self, column: str) -> str:
        return f" (not in {join_names(self.partial[column].lacking)})" if column in self.partial else ""

    def _missing_names(self, columns: Mapping[str, str], present: Sequence[str]) -> tuple[str, ...]:
        needed: list[str] = [name for name in ("model", "outcome") if name in COLUMNS_BY_ROLE[self.role]]
        units_suffice = "unit" in columns and "model" not in COLUMNS_BY_ROLE[self.role]
        if "context" not in columns and "context_id" not in columns and not units_suffice:
            needed.append("context")
        if "output" in COLUMNS_BY_ROLE[self.role] and not any(name.startswith("feature_") for name in columns):
            needed.append("output")
        missing = [name for name in needed if name not in columns]
        return tuple(n for n in missing if n in self.mapping or not self._is_ambiguous(n, present))

    def _is_ambiguous(self, name: str, present: Sequence[str]) -> bool:
        return len(matching_columns(name, present, accept_id_alias=self.accept_id_alias)) > 1


Present: TypeAlias = Mapping[str, tuple[str, Sequence[str]]]
"""The source and the columns of each table."""


def missing_column_problems(
    missing: Mapping[str, Sequence[str]], present: Present, mapping: Mapping[str, str]
) -> list[Problem]:
    """One problem per missing column, whatever the number of tables that lack it.

    ``missing`` gives the tables that lack a canonical column.
    """
    problems = []
    for name, tables in missing.items():
        sources = join_names(present[table][0] for table in tables)
        columns = list(dict.fromkeys(column for table in tables for column in present[table][1]))
        if name in mapping:
            scoped = name if len(tables) == len(_tables_with(name, present)) else f"{tables[0]}.{name}"
            problem = _missing_mapped_column(sources, name, mapping[name], columns)
            problems.append(replace(problem, fix=_mapping_fix(scoped, mapping[name], columns)))
            continue
        alternative = {"context": " (or context_id)", "output": " (or feature_* columns)"}.get(name, "")
        what = f"there is no column for the {name}{alternative}; the columns are {join_names(columns)}"
        nameless = all(other in missing for other in ("model", "context"))
        note = " A CSV needs the names of its columns in the first line." if nameless else ""
        problems.append(Problem(sources, what, _mapping_fix(name, name, columns) + note))
    return problems


def unmatched_mappings(mapping: Mapping[str, str], present: Present) -> dict[str, Problem]:
    """The mappings whose column is in no table that they are for."""
    problems = {}
    for given, column in mapping.items():
        scope, name = split_scope(given)
        tables = [table for table in _tables_with(name, present) if in_scope(scope, table)]
        if not tables or any(column in present[table][1] for table in tables):
            continue
        columns = list(dict.fromkeys(c for table in tables for c in present[table][1]))
        sources = join_names(present[table][0] for table in tables)
        problems[given] = _missing_mapped_column(sources, given, column, columns)
    return problems


def _tables_with(name: str, present: Present) -> list[str]:
    """The tables that can have a canonical column."""
    return [table for table in present if _may_have(table, name)]


def _may_have(role: str, name: str) -> bool:
    if name.startswith(SEGMENT_PREFIX):
        return role in ROLES_WITH_SEGMENTS
    names = (*COLUMNS_BY_ROLE[role], *ONLY_MAPPED.get(role, ()))
    return name in names or name.startswith(PREFIXES_BY_ROLE[role])


def _missing_mapped_column(source: str, name: str, column: str, present: Sequence[str]) -> Problem:
    """The problem of a --map whose column does not exist."""
    canonical = split_scope(name)[1]
    purpose = "for which models were drawn" if canonical == "unit" else f"which --map gives for {name}"
    purpose = "which is to divide rows into segments" if canonical.startswith(SEGMENT_PREFIX) else purpose
    what = f"there is no column {quote(column)}, {purpose}; the columns are {join_names(present)}"
    return Problem(source, what, _mapping_fix(name, column, present))


def _mapping_fix(name: str, missing: str, present: Sequence[str]) -> str:
    similar = similar_name(missing, present)
    hint = "" if similar is None else f" (did you mean {quote(similar)}?)"
    if split_scope(name)[1].startswith(SEGMENT_PREFIX):
        return f"Name a column of the experiment or the replay{hint}, or give a table of contexts and segments."
    return f"Pass --map {name}=COLUMN{hint}."
