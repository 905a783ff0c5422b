"""Draw the import graph between the rooms of the package.

    python -m tools.architecture            # writes docs/architecture.svg

A test compares the committed picture with the code, so it cannot become outdated.
"""

from __future__ import annotations

import sys
from graphlib import TopologicalSorter
from html import escape
from pathlib import Path

from tools.import_graph import room_edges

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "deconfound"
PICTURE = ROOT / "docs" / "architecture.svg"

BOX_WIDTH, BOX_HEIGHT, COLUMN, ROW, MARGIN = 96, 30, 122, 74, 24
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1d2733; text-anchor: middle; dominant-baseline: central; }
rect { fill: #eef4f8; stroke: #3a6ea5; rx: 5; }
path { fill: none; stroke: #8796a5; stroke-width: 1; marker-end: url(#tip); }
"""


def levels(edges: dict[tuple[str, str], int]) -> list[list[str]]:
    """Rooms by the length of their longest chain of imports, those that import nothing first."""
    uses: dict[str, set[str]] = {}
    for importer, imported in edges:
        uses.setdefault(importer, set()).add(imported)
    depth: dict[str, int] = {}
    for room in TopologicalSorter(uses).static_order():
        depth[room] = 1 + max((depth[other] for other in uses.get(room, ())), default=-1)
    return [sorted(room for room in depth if depth[room] == level) for level in range(max(depth.values()) + 1)]


def direct_edges(edges: dict[tuple[str, str], int]) -> list[tuple[str, str]]:
    """Edges that no longer chain of imports implies: the transitive reduction, which keeps the picture readable."""
    uses: dict[str, set[str]] = {}
    for a, b in edges:
        uses.setdefault(a, set()).add(b)

    def reachable(start: str) -> set[str]:
        reached: set[str] = set()
        waiting = list(uses.get(start, ()))
        while waiting:
            room = waiting.pop()
            if room not in reached:
                reached.add(room)
                waiting.extend(uses.get(room, ()))
        return reached

    return sorted((a, b) for a, b in edges if not any(b in reachable(c) for c in uses[a] if c != b))


def draw(root: Path = SOURCE) -> str:
    """The graph as SVG; arrows point to what is imported, implied ones are left out."""
    edges = {pair: count for pair, count in room_edges(root).items() if "__main__" not in pair}
    rows = levels(edges)[::-1]
    width = max(len(row) for row in rows) * COLUMN + 2 * MARGIN
    height = len(rows) * ROW + 2 * MARGIN - (ROW - BOX_HEIGHT)
    place = {}
    for y, row in enumerate(rows):
        start = (width - (len(row) - 1) * COLUMN) / 2
        for x, room in enumerate(row):
            place[room] = (start + x * COLUMN, MARGIN + BOX_HEIGHT / 2 + y * ROW)
    lines = [_arrow(place[a], place[b]) for a, b in direct_edges(edges)]
    boxes = [_box(room, *place[room]) for row in rows for room in row]
    tip = '<marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto"><path d="M0,0 L8,4 L0,8 z" style="fill:#8796a5;stroke:none;marker-end:none"/></marker>'  # noqa: E501
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">'
    title = "<title>Rooms of the package; arrows point to what is imported</title>"
    return "\n".join([head, title, f"<style>{STYLE}</style><defs>{tip}</defs>", *lines, *boxes, "</svg>", ""])


def _box(room: str, x: float, y: float) -> str:
    left, top = x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2
    rect = f'<rect x="{left:g}" y="{top:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}"/>'
    return f'{rect}<text x="{x:g}" y="{y:g}">{escape(room)}</text>'


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, end
    y1, y2 = y1 + BOX_HEIGHT / 2, y2 - BOX_HEIGHT / 2
    bend = (y2 - y1) / 2
    return f'<path d="M{x1:g},{y1:g} C{x1:g},{y1 + bend:g} {x2:g},{y2 - bend:g} {x2:g},{y2:g}"/>'


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}\n")
