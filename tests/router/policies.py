"""Policies of every kind, for tests."""

from __future__ import annotations

import numpy as np

from deconfound.router.policy import PolicyEvidence, RoutingPolicy, SegmentScores
from deconfound.router.prompt_scores import PromptScores, StyleScale
from deconfound.words.phrase_hashing import hash_words
from deconfound.words.prompt_style import STATISTICS

MODELS = ("ant", "bee ☂", "cat")
EVIDENCE = PolicyEvidence("context", True, 0.05, 0.01, 0.09, 0.95, "ant", 480)
SCORES = np.array([0.6, 0.5, 0.55])


def word_rule(buckets: int = 64) -> PromptScores:
    """The word "poem" is worth 0.5 to the last model."""
    weight = np.zeros((buckets, 3))
    weight[:, 2] = 0.5 * hash_words([b"poem"], "context", buckets)
    scale = StyleScale(np.zeros(STATISTICS), np.ones(STATISTICS))
    return PromptScores(SCORES, weight, np.zeros((STATISTICS, 3)), scale)


def policies() -> dict[str, RoutingPolicy]:
    segments = SegmentScores("country", {"DE": np.array([0.2, 0.7, 0.1]), "=1+1": SCORES})
    rules = {"single": None, "segments": segments, "context": word_rule()}
    return {kind: RoutingPolicy(MODELS, "ant", SCORES, rule, EVIDENCE) for kind, rule in rules.items()}
