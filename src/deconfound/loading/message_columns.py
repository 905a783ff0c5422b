"""Contexts and outputs that are messages, nested or as JSON in a text -> plain text, the same for every shape."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from deconfound.chat.answers import answers_from
from deconfound.chat.conversation import Message, conversation_text, messages_from
from deconfound.chat.message_content import decode, is_conversation
from deconfound.chat.trailing_answer import ends_with_answer, is_same_answer
from deconfound.findings import Finding, Notice
from deconfound.formatting import pluralize
from deconfound.loading.column_mapping import normalize_name
from deconfound.loading.convert import is_string_type
from deconfound.loading.decoded_size import decode_dictionary
from deconfound.loading.python_text import is_python_text, read_python_text
from deconfound.loading.raw import NESTED, RawTable, python_value

OUTPUT = "output"
MESSAGE_COLUMNS = ("messages", "input_messages", "conversation", "chat")
SAMPLE_ROWS = 200  # with a cell, by which a column is recognized; all are read later
JSON_STARTS = ("[", "{", '"')


@dataclass(frozen=True, slots=True)
class MessageColumns:
    """The user's names of the columns that may have messages; ``may_lack_output``: messages may hold the outputs.

    ``contexts_only``: the contexts are to be answered anew, so that no answer at the end of a row belongs to them.
    """

    context: str | None
    output: str | None
    may_lack_output: bool
    contexts_only: bool = False


def message_column(raw: RawTable) -> str | None:
    """The column that has messages by its name and its first cells; None if there are several, or none."""
    found = [name for name in raw.arrow.column_names if normalize_name(name) in MESSAGE_COLUMNS]
    if len(found) != 1:
        return None
    with_cell = pc.indices_nonzero(pc.is_valid(raw.arrow[found[0]]))
    first = replace(raw, arrow=raw.arrow.take(with_cell.slice(0, SAMPLE_ROWS)))
    return found[0] if message_cells(first, found[0]) is not None else None


def read_messages(raw: RawTable, columns: MessageColumns) -> RawTable:
    """The table with texts instead of messages; a column of plain texts stays as it is.

    The context is what a model answered to. An answer at the end of the messages is the output if there is no column
    of outputs. It is no part of the context if it is the output, or if the table has no outputs and most rows end so
    (any row, for ``contexts_only``).
    """
    conversations = None if columns.context is None else _conversations(raw, columns.context)
    if columns.output is not None:
        raw = _read_output(raw, columns.output)
    if conversations is None or columns.context is None:
        return raw
    answers: list[str | None] = [
        messages[-1].text if ends_with_answer(messages) else None for messages in conversations
    ]
    mostly_answered = 2 * sum(answer is not None for answer in answers) > len(answers)  # others are reported by row
    if columns.output is not None:
        spoken, answers = answers, _only_outputs(answers, raw, columns.output)
        raw = _note_other_answers(raw, columns.context, spoken, answers)
        raw = _note_left_out(raw, columns.context, answers) if columns.contexts_only else raw
    elif columns.contexts_only:
        raw = _note_left_out(raw, columns.context, answers)
    elif not mostly_answered:
        answers = [None] * len(answers)
    elif columns.may_lack_output:
        raw = replace(raw, arrow=raw.arrow.append_column(OUTPUT, pa.array(answers, pa.string())))
        raw = _note(raw, f"{raw.source}: the output is the last message in column {columns.context}.")
    else:
        raw = _note(raw, f"{raw.source}: the answers at the end of {columns.context} are no part of the contexts.")
    texts = [
        conversation_text(messages if answer is None else messages[:-1]) or None
        for messages, answer in zip(conversations, answers, strict=True)
    ]
    raw = _note_python(raw, columns.context)
    raw = _with_texts(raw, columns.context, texts)
    return _note(raw, f"{raw.source}: {columns.context} has messages, which are read as text, each after its role.")


def _note_left_out(raw: RawTable, name: str, answers: Sequence[str | None]) -> RawTable:
    count = sum(answer is not None for answer in answers)
    if not count:
        return raw
    message = f"{raw.source}: {name} ends with an answer in {pluralize(count, 'row')}; these answers are left out."
    return replace(raw, findings=(*raw.findings, Finding("answers left out", "pass", Notice(message))))


def _only_outputs(answers: Sequence[str | None], raw: RawTable, output: str) -> list[str | None]:
    """The answers that are the row's output."""
    outputs = [python_value(value) for value in raw.arrow[output]]
    return [
        answer if answer is not None and output is not None and is_same_answer(answer, str(output)) else None
        for answer, output in zip(answers, outputs, strict=True)
    ]


def _note_other_answers(
    raw: RawTable, context: str, spoken: Sequence[str | None], outputs: Sequence[str | None]
) -> RawTable:
    """Warn if most contexts end with an answer that is not the output: it may be the output in another form."""
    others = sum(one is not None and same is None for one, same in zip(spoken, outputs, strict=True))
    if 2 * others <= len(spoken):
        return raw
    message = f"{raw.source}: {others:,} of {len(spoken):,} conversations in {context} end with an answer that is not"
    remedy = "If it is the output in another form, remove the last message: contexts must not contain the output."
    notice = Notice(f"{message} the output. It is part of the context.", remedy)
    return replace(raw, findings=(*raw.findings, Finding("messages", "warn", notice)))


def _conversations(raw: RawTable, name: str) -> list[tuple[Message, ...]] | None:
    """The messages of each row; None if no row has any, or if a nested cell is something else."""
    cells = message_cells(raw, name)
    return None if cells is None else [messages_from(cell) for cell in cells]


def _read_output(raw: RawTable, name: str) -> RawTable:
    cells = message_cells(raw, name)
    if cells is None:
        return raw
    raw = _note_python(raw, name)
    raw = _with_texts(raw, name, [None if cell is None else _last_answer(cell) for cell in cells])
    return _note(raw, f"{raw.source}: {name} has messages, of which the last answer is read.")


def _last_answer(cell: object) -> str:
    answers = answers_from(cell)
    return answers[-1].text if answers else ""


def message_cells(raw: RawTable, name: str) -> list[object] | None:
    """The cells of a column of messages; None where it is a column of plain texts, or mostly of other objects."""
    column, kind = decode_dictionary(raw.arrow[name])
    if is_string_type(kind):
        if not any(pc.any(pc.starts_with(column, start)).as_py() for start in JSON_STARTS):
            return None
        try:
            cells = [_decoded(text) for text in column.to_pylist()]
        except UnicodeDecodeError:  # reported with its row when the texts are read
            return None
        return cells if any(not isinstance(cell, str | None) for cell in cells) else None
    if not pa.types.is_nested(kind):
        return None
    cells = [_without_nulls(_nested(value)) for value in column]
    conversations = [is_conversation(cell) for cell in cells]
    if 2 * sum(conversations) <= len(cells) - column.null_count:
        return None
    return [cell if is_one else None for cell, is_one in zip(cells, conversations, strict=True)]  # reported by row


def _decoded(text: object) -> object:
    """Messages as JSON, or as Python writes them; any other text stays as it is."""
    cell = decode(text)
    if not isinstance(cell, str) or not is_python_text(cell):
        return cell
    read = read_python_text(cell)
    return read if is_conversation(read) else cell


def _nested(value: pa.Scalar) -> object:
    cell = python_value(value)
    return json.loads(cell["json"]) if value.type == NESTED and isinstance(cell, dict) else cell


def _without_nulls(value: object) -> object:
    """Without keys that only other rows have: Arrow fills them in."""
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


def _with_texts(raw: RawTable, name: str, texts: Sequence[str | None]) -> RawTable:
    at = raw.arrow.column_names.index(name)
    return replace(raw, arrow=raw.arrow.set_column(at, name, pa.array(texts, pa.large_string())))


def _note_python(raw: RawTable, name: str) -> RawTable:
    """A note where messages are no JSON but what Python prints."""
    written = [python_value(value) for value in raw.arrow[name]] if is_string_type(raw.arrow[name].type) else []
    rows = [row for row, text in enumerate(written) if is_python_text(text)]
    if not rows:
        return raw
    unread = [row for row in rows if isinstance(_decoded(written[row]), str)]
    if unread:
        where = raw.row_numbers.locate(raw.source, unread[0])
        message = f"{where}: {name} looks like messages, and cannot be read as such ({len(unread):,} of {len(rows):,})."
        finding = Finding(
            "messages", "warn", Notice(message, "It is read as plain text. Write messages with json.dumps.")
        )
        raw = replace(raw, findings=(*raw.findings, finding))
    cells = f"{len(rows) - len(unread):,} of {pluralize(len(written), 'cell')}"
    message = f"{raw.source}: {name} is no JSON in {cells}, but what Python prints (pandas' to_csv does), and read so."
    remedy = "Write messages with json.dumps: other programs cannot read them as they are."
    return replace(raw, findings=(*raw.findings, Finding("messages", "pass", Notice(message, remedy))))


def _note(raw: RawTable, message: str) -> RawTable:
    return replace(raw, findings=(*raw.findings, Finding("messages", "pass", Notice(message))))
