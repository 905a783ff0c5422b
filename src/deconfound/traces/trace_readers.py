"""All formats that can be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deconfound.traces.arena import Arena
from deconfound.traces.batch_files import BatchFiles
from deconfound.traces.inspect_log import InspectLog
from deconfound.traces.langfuse import Langfuse
from deconfound.traces.langsmith import LangSmith
from deconfound.traces.litellm import LiteLlm
from deconfound.traces.lm_eval import LmEval
from deconfound.traces.mlflow_traces import Mlflow
from deconfound.traces.otlp_reader import Otlp
from deconfound.traces.promptfoo import Promptfoo
from deconfound.traces.reader import Reader

READERS: tuple[Reader, ...] = (
    Otlp(),
    LiteLlm(),
    Langfuse(),
    Mlflow(),
    Promptfoo(),
    InspectLog(),
    LmEval(),
    BatchFiles(),
    LangSmith(),
    Arena(),
)
"""In the order in which they are asked; formats whose records look alike must not both recognize one."""


def recognize(value: Mapping[str, Any]) -> Reader | None:
    """The reader of the format that a record has; None if no reader knows it."""
    return next((reader for reader in READERS if reader.recognizes(value)), None)
