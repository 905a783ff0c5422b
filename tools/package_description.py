"""The description on a package index: the README without links that work only beside the repository's files.

python -m tools.package_description      writes docs/package-description.md
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACE = ROOT / "docs" / "package-description.md"
RELATIVE_IMAGE = re.compile(r"!\[[^\]]+\]\((?!https?://)[^)]+\)\n\n")
RELATIVE_LINK = re.compile(r"\[([^\]]+)\]\((?!https?://|mailto:)[^)]+\)")
NOTE = "\nThe documentation that this page names is in the folder `docs/` of the source distribution.\n"


def description(readme: str) -> str:
    """The text of relative links in place of the links, and no pictures."""
    return RELATIVE_LINK.sub(r"\1", RELATIVE_IMAGE.sub("", readme)) + NOTE


if __name__ == "__main__":
    PLACE.write_text(description((ROOT / "README.md").read_text(encoding="utf-8")), encoding="utf-8")
