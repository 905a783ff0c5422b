"""Load the wordings of the invented articles from TOML files, and check them.

``wordings/schema.toml`` describes every list, slot and kind of sentence, and how to edit the files.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from deconfound.errors import DataError, Problem
from deconfound.formatting import join_names, quote
from deconfound_bench.articles.grammar import TemplateError, slots
from deconfound_bench.articles.toml_table import SEE_SCHEMA, TomlTable

Lists = Mapping[str, tuple[str, ...]]

MIN_EVENT_WORDINGS = 3  # the lead uses one, restatements use the others
# These values are filled one after another, before everything else, so their templates cannot use every slot.
UNAVAILABLE_SLOTS = {
    "organizations": {"org", "authority", "subject"},
    "authorities": {"authority", "subject"},
    "subjects": {"subject"},
}
EVENT_LISTS = {"restatements", "roundup_transitions"}  # only their templates can use {event}


@dataclass(frozen=True, slots=True)
class Subject:
    """What an article can be about: ``long`` is the first mention, ``short`` every later one."""

    long: str
    short: str

    @property
    def keyword(self) -> str:
        """The last word of the short form, by which events refer to the subject."""
        return self.short.rsplit(" ", 1)[-1]


@dataclass(frozen=True, slots=True)
class Event:
    """One piece of news in several wordings, for the subjects with the keywords ``only_for``, or for all if empty."""

    wordings: tuple[str, ...]
    only_for: tuple[str, ...]

    def fits(self, subject: Subject) -> bool:
        """Whether the event can happen to the subject."""
        return not self.only_for or subject.keyword in self.only_for


@dataclass(frozen=True, slots=True)
class Topic:
    """The wordings of one topic.

    With ``large_sums``, an article's sum of money is in the millions. With ``has_officials``, facts about officials are
    added. ``short_organization`` is the later mention of organizations that have no short form in names.toml.
    """

    name: str
    large_sums: bool
    has_officials: bool
    short_organization: str
    subjects: tuple[Subject, ...]
    events: tuple[Event, ...]
    lists: Lists


@dataclass(frozen=True, slots=True)
class NewspaperKind:
    """The habits of one kind of newspaper; newspapers.toml describes the fields."""

    kind: str
    quotes: float
    numbers: float
    colour: float
    joining: float
    paragraph: float
    dateline: float
    plain_verbs: bool
    asides: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Structure:
    """Which kinds of sentences an article consists of; structures.toml describes the fields."""

    name: str
    share: float
    length: float
    opening: tuple[str, ...]
    phases: tuple[Mapping[str, float], ...]
    closing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wordings:
    """Everything that articles are composed from."""

    names: Lists
    short_organizations: Mapping[str, str]
    common: Lists
    forms: Lists
    newspapers: tuple[NewspaperKind, ...]
    structures: tuple[Structure, ...]
    topics: tuple[Topic, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """The names that the other files can use, each with its meaning."""

    slots: Mapping[str, str]
    sentence_kinds: Mapping[str, str]
    topic_lists: Mapping[str, str]
    common_lists: Mapping[str, str]
    form_lists: Mapping[str, str]
    name_lists: Mapping[str, str]


@functools.cache
def builtin_wordings() -> Wordings:
    """The wordings of this package, loaded once per process."""
    return read_wordings(files("deconfound_bench.articles") / "wordings")


def read_wordings(folder: Traversable) -> Wordings:
    """Read the files of a folder, and refuse the first key, template or slot that its schema does not describe."""
    schema = read_schema(folder)
    names, common, forms, newspapers, structures = (
        TomlTable.from_file(folder, f"{name}.toml") for name in ("names", "common", "forms", "newspapers", "structures")
    )
    paths = (folder / "topics").iterdir() if (folder / "topics").is_dir() else ()
    topics = sorted(path.name for path in paths if path.name.endswith(".toml"))
    if not topics:
        raise DataError([Problem("topics", "there is no topic file", "Restore the .toml files of this folder.")])
    wordings = Wordings(
        names={key: _texts(names, key, purpose) for key, purpose in schema.name_lists.items()},
        short_organizations=names.table("short_organizations").items(str),
        common=_template_lists(common, schema.common_lists, schema),
        forms=_template_lists(forms, schema.form_lists, schema),
        newspapers=tuple(_newspaper_kind(table, schema) for table in newspapers.tables("newspapers")),
        structures=tuple(_structure(table, schema) for table in structures.tables("structures")),
        topics=tuple(_topic(TomlTable.from_file(folder, f"topics/{name}"), schema) for name in topics),
    )
    for table in (names, common, forms, newspapers, structures):
        table.finish()
    return wordings


def read_schema(folder: Traversable) -> Schema:
    """Read which names the other files can use."""
    table = TomlTable.from_file(folder, "schema.toml")
    schema = Schema(
        slots=table.table("slots").items(str),
        sentence_kinds=table.table("sentence_kinds").items(str),
        topic_lists=table.table("topic_lists").items(str),
        common_lists=table.table("common_lists").items(str),
        form_lists=table.table("form_lists").items(str),
        name_lists=table.table("name_lists").items(str),
    )
    table.finish()
    return schema


def _topic(table: TomlTable, schema: Schema) -> Topic:
    subjects = tuple(_subject(one, schema) for one in table.tables("subjects"))
    topic = Topic(
        name=table.where.removeprefix("topics/").removesuffix(".toml"),
        large_sums=table.get("large_sums", bool),
        has_officials=table.get("has_officials", bool),
        short_organization=table.get("short_organization", str) if "short_organization" in table else "",
        subjects=subjects,
        events=tuple(_event(one, subjects, schema) for one in table.tables("events")),
        lists=_template_lists(table, schema.topic_lists, schema),
    )
    for subject in subjects:
        if not any(event.fits(subject) for event in topic.events):
            table.refuse(f"no event fits the subject {quote(subject.short)}", "Add its last word to an only_for.")
    table.finish()
    return topic


def _subject(table: TomlTable, schema: Schema) -> Subject:
    subject = Subject(table.get("long", str), table.get("short", str))
    _check_templates(table.where, "subjects", (subject.long, subject.short), schema)
    table.finish()
    return subject


def _event(table: TomlTable, subjects: Iterable[Subject], schema: Schema) -> Event:
    event = Event(_templates(table, "wordings", schema), table.texts("only_for") if "only_for" in table else ())
    if len(event.wordings) < MIN_EVENT_WORDINGS:
        table.refuse(f"the event has fewer than {MIN_EVENT_WORDINGS} wordings", "Add another one.")
    unknown = sorted(set(event.only_for) - {subject.keyword for subject in subjects})
    if unknown:
        table.refuse(f"only_for names {join_names(unknown)}", "Use the last word of the short form of a subject.")
    table.finish()
    return event


def _newspaper_kind(table: TomlTable, schema: Schema) -> NewspaperKind:
    newspaper = NewspaperKind(
        kind=table.get("kind", str),
        quotes=table.get("quotes", float),
        numbers=table.get("numbers", float),
        colour=table.get("colour", float),
        joining=table.get("joining", float),
        paragraph=table.get("paragraph", float),
        dateline=table.get("dateline", float),
        plain_verbs=table.get("plain_verbs", bool),
        asides=_templates(table, "asides", schema),
    )
    table.finish()
    return newspaper


def _structure(table: TomlTable, schema: Schema) -> Structure:
    structure = Structure(
        name=table.get("name", str),
        share=table.get("share", float),
        length=table.get("length", float),
        opening=_texts(table, "opening"),
        phases=tuple(phase.items(float) for phase in table.tables("phases")),
        closing=table.texts("closing"),
    )
    kinds = {*structure.opening, *structure.closing, *(kind for phase in structure.phases for kind in phase)}
    unknown = sorted(kinds - set(schema.sentence_kinds))
    if unknown:
        table.refuse(f"unknown kind of sentence {join_names(unknown)}", SEE_SCHEMA)
    table.finish()
    return structure


def _template_lists(table: TomlTable, purposes: Mapping[str, str], schema: Schema) -> Lists:
    return {key: _templates(table, key, schema, purpose) for key, purpose in purposes.items()}


def _templates(table: TomlTable, key: str, schema: Schema, purpose: str = "") -> tuple[str, ...]:
    templates = _texts(table, key, purpose)
    _check_templates(table.where, key, templates, schema)
    return templates


def _texts(table: TomlTable, key: str, purpose: str = "") -> tuple[str, ...]:
    texts = table.texts(key, purpose)
    if not texts:
        table.refuse(f"{quote(key)} is empty", "Write at least one item.")
    return texts


def _check_templates(where: str, key: str, templates: Iterable[str], schema: Schema) -> None:
    unavailable = UNAVAILABLE_SLOTS.get(key, set()) | (set() if key in EVENT_LISTS else {"event"})
    problems = []
    for template in templates:
        try:
            wrong = [slot for slot in slots(template) if slot not in schema.slots or slot in unavailable]
            mistakes = [f"the slot {{{slot}}} is unknown or not available here" for slot in wrong]
        except TemplateError as error:
            mistakes = [str(error)]
        problems += [Problem(f"{where} {key}", f"{what}: {quote(template)}", SEE_SCHEMA) for what in mistakes]
    if problems:
        raise DataError(problems)
