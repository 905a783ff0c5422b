"""Draw the picture of the demo for the documentation: truth, raw log and values with intervals.

python -m tools.docs_pictures      writes docs/pictures/demo-values.svg
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import deconfound as dc
from deconfound.demo import make_demo

PLACE = Path(__file__).parents[1] / "docs" / "pictures" / "demo-values.svg"
LEFT, WIDTH, ROW, TOP = 90, 520, 38, 56
LOW, HIGH = 0.25, 0.8
STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1c2b33; dominant-baseline: central; }
.tick { font-size: 12px; fill: #45565f; text-anchor: middle; }
.grid { stroke: #dde3e6; }
.interval { stroke: #1b7f5c; stroke-width: 3; }
.value { fill: #1b7f5c; }
.log { fill: #fff; stroke: #b35806; stroke-width: 2; }
.truth { stroke: #1c2b33; stroke-width: 2; }
"""


def picture() -> str:
    """The demo of seed 0, the truly best model on top."""
    demo = make_demo(seed=0)
    result = dc.evaluate(dc.load(log=demo.log, experiment=demo.experiment, replay=demo.replay))
    rows = {row["model"]: row for row in result.values.table()}
    bias = {one.model: one.estimate for one in result.log_bias.biases}
    truth = demo.true_values
    order = sorted(truth, key=lambda model: -truth[model])
    height = TOP + ROW * len(order) + 34
    parts = [_frame(height), *_legend()]
    for at, model in enumerate(order):
        y, row = TOP + ROW * (at + 0.5), rows[model]
        parts += [
            f'<text x="{LEFT - 14}" y="{y}" text-anchor="end">{escape(model)}</text>',
            f'<line class="interval" x1="{_x(row["low"])}" x2="{_x(row["high"])}" y1="{y}" y2="{y}"/>',
            f'<circle class="value" cx="{_x(row["estimate"])}" cy="{y}" r="5.5"/>',
            f'<circle class="log" cx="{_x(row["estimate"] + bias[model])}" cy="{y}" r="5.5"/>',
            f'<line class="truth" x1="{_x(truth[model])}" x2="{_x(truth[model])}" y1="{y - 9}" y2="{y + 9}"/>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(value: float) -> str:
    return f"{LEFT + WIDTH * (value - LOW) / (HIGH - LOW):.1f}"


def _frame(height: float) -> str:
    ticks = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    lines = [f'<line class="grid" x1="{_x(t)}" x2="{_x(t)}" y1="{TOP}" y2="{height - 34}"/>' for t in ticks]
    numbers = [f'<text class="tick" x="{_x(t)}" y="{height - 18}">{t:.1f}</text>' for t in ticks]
    size = f'viewBox="0 0 {LEFT + WIDTH + 30} {height}" width="{LEFT + WIDTH + 30}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            "<title>Six models: truth, mean of the raw log, and value with its 95 % interval</title>",
            f"<style>{STYLE}</style>",
            '<rect width="100%" height="100%" rx="10" fill="#fafafa"/>',
            *lines,
            *numbers,
        ]
    )


def _legend() -> list[str]:
    y = 26
    return [
        f'<line class="truth" x1="{LEFT}" x2="{LEFT}" y1="{y - 9}" y2="{y + 9}"/>',
        f'<text x="{LEFT + 10}" y="{y}">truth</text>',
        f'<circle class="log" cx="{LEFT + 90}" cy="{y}" r="5.5"/><text x="{LEFT + 104}" y="{y}">raw log</text>',
        f'<line class="interval" x1="{LEFT + 190}" x2="{LEFT + 220}" y1="{y}" y2="{y}"/>',
        f'<circle class="value" cx="{LEFT + 205}" cy="{y}" r="5.5"/>',
        f'<text x="{LEFT + 230}" y="{y}">value, with its 95 % interval</text>',
    ]


if __name__ == "__main__":
    PLACE.write_text(picture(), encoding="utf-8")
