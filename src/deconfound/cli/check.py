"""The command that asks whether the tables can carry an answer."""

from __future__ import annotations

import argparse
import sys

from deconfound.cli.commands import load_study, mapping
from deconfound.cli.progress import Progress
from deconfound.diagnose import check
from deconfound.errors import AssumptionError, EvidenceError
from deconfound.loading import load_contexts
from deconfound.report.check_text import any_conclusive, any_failed, check_document, check_text
from deconfound.report.document import to_text


def check_study(arguments: argparse.Namespace) -> int:
    """Three tables in, findings out."""
    target = None if arguments.target is None else load_contexts(arguments.target, columns=mapping(arguments.map))
    study = load_study(arguments)
    progress = Progress(arguments.quiet)
    try:
        checked = check(study, seed=arguments.seed, level=arguments.level, target=target, progress=progress)
    finally:
        progress.clear()
    findings = (*study.findings, *checked)
    if arguments.json:
        sys.stdout.write(to_text(check_document(findings, arguments.level, arguments.seed)))
    else:
        sys.stdout.write(check_text(findings, arguments.level))
    if any_failed(findings):
        return AssumptionError.exit_code
    return 0 if any_conclusive(findings) else EvidenceError.exit_code
