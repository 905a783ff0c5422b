"""JSON as it is printed and written."""

from __future__ import annotations

import json

from deconfound.escaping import escape_json
from deconfound.formatting import to_jsonable


def dump_json(content: object) -> str:
    """JSON that any parser accepts and any terminal can show: null for NaN and infinity, a newline at the end."""
    return escape_json(json.dumps(to_jsonable(content), indent=2, ensure_ascii=False, allow_nan=False)) + "\n"
