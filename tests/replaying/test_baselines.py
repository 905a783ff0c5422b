"""Baselines: parts of the context, the same on every machine."""

from __future__ import annotations

import pytest

from deconfound.replaying.baselines import Baseline
from deconfound.replaying.sentences import sentences

TEXT = 'It is late. "Really?" she asked! Yes.\n\nA new paragraph without an end\n\nこれは文です。次の文。'


def test_sentences_end_at_signs_and_paragraphs():
    assert sentences(TEXT) == [
        "It is late.",
        '"Really?"',
        "she asked!",
        "Yes.",
        "A new paragraph without an end",
        "これは文です。",
        "次の文。",
    ]
    assert sentences("  ") == []
    assert sentences("Version 1.2 costs 3.50 euros.") == ["Version 1.2 costs 3.50 euros."]


@pytest.mark.parametrize(
    ("baseline", "output"),
    [
        (Baseline("a", "lead", 2), 'It is late. "Really?"'),
        (Baseline("a", "last", 1), "次の文。"),
        (Baseline("a", "first-characters", 6), "It is"),
        (Baseline("a", "copy", 1), TEXT),
        (Baseline("a", "lead", 99), " ".join(sentences(TEXT))),
    ],
)
def test_each_rule(baseline, output):
    assert baseline.output(TEXT, 0) == output


def test_random_sentences_are_reproducible_and_differ_by_draw_seed_and_context():
    text = " ".join(f"Sentence {at}." for at in range(50))
    outputs = [Baseline("a", "random-sentences", 3, seed).output(text, draw) for seed in (0, 1) for draw in (0, 1)]
    assert len(set(outputs)) == 4
    assert outputs[0] == Baseline("b", "random-sentences", 3, 0).output(text, 0)
    assert all(len(sentences(output)) == 3 for output in outputs)
    numbers = [int(sentence.split()[1][:-1]) for sentence in sentences(outputs[0])]
    assert numbers == sorted(numbers)
    assert outputs[0] == "Sentence 9. Sentence 23. Sentence 31."


def test_each_sentence_is_drawn_equally_often():
    """4 of 8 sentences in 4,000 draws: each count has mean 2,000 and sd 32; 150 is 4.7 sd."""
    text = " ".join(f"S{at}." for at in range(8))
    drawn = [Baseline("a", "random-sentences", 4).output(text, draw).split() for draw in range(4_000)]
    for at in range(8):
        assert abs(sum(f"S{at}." in one for one in drawn) - 2_000) < 150


@pytest.mark.parametrize("kind", ["lead", "last", "random-sentences", "first-characters", "copy"])
def test_a_context_without_sentences_gives_what_it_has(kind):
    assert Baseline("a", kind, 3).output("no end", 0) in ("no end", "no")
    assert Baseline("a", kind, 3).output("{context} {0} %s", 0).startswith("{co")
