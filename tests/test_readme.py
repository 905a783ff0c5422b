"""The documentation's code runs and its claims are found in the repository."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import deconfound
import deconfound.demo
from deconfound.demo import Sizes
from tests.support.page_blocks import page_blocks

ROOT = Path(__file__).parent.parent
SMALL = Sizes(log_contexts=60, log_repeats=3, log_people=30, experiment_contexts=48, experiment_people=48, draws=1)


def blocks(path: Path) -> list[str]:
    return [block.text for block in page_blocks(path) if block.language == "python"]


FILES = {"adding-a-family.md", "tutorial-whole-loop.md"}  # their blocks are whole files, which tests of their own run
DOCS = (page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name not in FILES)
PAGES = [page for page in (ROOT / "README.md", *DOCS) if blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_block_runs(page, tmp_path, monkeypatch):
    """The demo is made small here, and the files and the study that the pages speak of exist."""
    whole = deconfound.demo.make_demo
    monkeypatch.setattr(deconfound.demo, "make_demo", lambda seed=0: whole(seed, sizes=SMALL))
    monkeypatch.chdir(tmp_path)
    names = {"study": write_study(whole(0, sizes=SMALL))}
    for block in blocks(page):
        exec(compile(block, page.name, "exec"), names)  # noqa: S102  (our own documentation)


def write_study(demo: deconfound.demo.Demo) -> deconfound.Study:
    pq.write_table(demo.log, "log.parquet")
    pyarrow.csv.write_csv(demo.experiment, "experiment.csv")
    lines = "".join(json.dumps(row) + "\n" for row in demo.replay.to_pylist())
    with pa.CompressedOutputStream("replay.jsonl.zst", "zstd") as stream:
        stream.write(lines.encode())
    return deconfound.load(log="log.parquet", experiment="experiment.csv", replay="replay.jsonl.zst")


def test_every_relative_link_leads_somewhere():
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")):
        for target in re.findall(r"\]\((?!http|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"


def test_every_make_target_in_the_readme_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
