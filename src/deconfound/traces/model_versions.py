"""The name of a model and its version: providers answer to "cedar" as "acme/cedar-2026-09-01"."""

from __future__ import annotations

import re

PROVIDER = re.compile(r"(?:.*/)?(?:[a-z]+\.)*", re.DOTALL)  # "openai/", or "us.acme." as clouds write it
VERSION = re.compile(r"[-@:_](?:\d{4}-\d\d-\d\d|\d{8}|\d{6}|\d{3,4}|latest|v\d+(?:[:.]\d+)*)")
LATEST = "latest"


def split_version(model: str) -> tuple[str, str]:
    """The name without provider and version, and the version; empty where it is the latest or not stated."""
    name = model.strip().lower()
    prefix = PROVIDER.match(name)
    plain = name[prefix.end() :] if prefix else name
    base, end = plain, len(plain)
    for match in reversed(list(VERSION.finditer(plain))):
        if match.end() != end or match.start() == 0:
            break
        base, end = plain[: match.start()], match.start()
    version = plain[len(base) + 1 :]
    return base, "" if version == LATEST else version
