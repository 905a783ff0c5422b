"""Which rows values are about, in words."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from deconfound.report.scope_text import scope_lines
from tests.support.results import demo_result, load_demo, small_demo


def test_what_several_tables_note_is_said_once():
    """Experiment and replay have a column that the log lacks, and both note that all rows of the log are read."""
    demo = small_demo()
    with_language = {
        name: getattr(demo, name).append_column("lang", pa.array(["de"] * len(getattr(demo, name))))
        for name in ("experiment", "replay")
    }
    study = load_demo(demo, **with_language, where="lang=de")
    notes = [finding.message for finding in study.findings if "no such column" in finding.message]
    assert len(notes) == 2
    lines = scope_lines(replace(demo_result(), findings=study.findings))
    assert [line for line in lines if "no such column" in line] == notes[:1]
    assert sum("fulfill --where lang=de" in line for line in lines) == 2
