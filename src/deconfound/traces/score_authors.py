"""Who gave a score, where its record has no field for it: language models give themselves away by their names."""

from __future__ import annotations

import re
from dataclasses import replace

from deconfound.loading.column_mapping import normalize_name
from deconfound.traces.call import Author, Score

KINDS: dict[str, Author] = {
    **dict.fromkeys(("human", "annotation", "user", "person", "annotator", "customer", "expert"), "human"),
    **dict.fromkeys(("llm", "llm_judge", "judge", "eval", "model", "ai", "evaluator", "auto_eval"), "judge"),
    **dict.fromkeys(("code", "program", "script", "heuristic", "rule"), "code"),
}
"""What a field for the kind of author may say."""
JUDGES = (
    *("llm", "judge", "autoeval", "autorater", "ragas", "deepeval", "geval", "trulens"),
    *("gpt", "claude", "gemini", "llama", "mistral", "qwen", "deepseek"),
)
"""Words in the name of an author or of a score that only judges have."""
WORDS = re.compile(r"[a-z]+")


def author_kind(stated: str) -> Author:
    """The kind of author that a field states, such as "AI_JUDGE" or "gpt-4o"."""
    kind = KINDS.get(normalize_name(stated))
    return kind if kind is not None else "judge" if _names_a_judge(stated) else "unknown"


def with_likely_author(score: Score) -> Score:
    """The score as one of a judge if nobody says who gave it, but its name or that of its author does."""
    is_judge = score.author == "unknown" and (_names_a_judge(score.name) or _names_a_judge(score.author_id))
    return replace(score, author="judge") if is_judge else score


def _names_a_judge(text: str) -> bool:
    return any(word in JUDGES for word in WORDS.findall(normalize_name(text)))
