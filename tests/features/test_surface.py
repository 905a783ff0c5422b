"""Surface statistics: hand-computed values, naive implementations, and finite numbers for any text."""

from __future__ import annotations

import itertools
import re
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deconfound.features import SURFACE_STATISTICS
from deconfound.features.surface import surface_statistics
from deconfound.features.tokenize import tokenize_pairs
from deconfound.words.word_splitting import MAX_CHARACTERS, tokenize

NAMES = [name for name, _ in SURFACE_STATISTICS]
# A small alphabet makes texts share words, repeat themselves and look formatted; the rest is any text at all.
WORDY = st.text("ab1 .?\n*#|`-A", max_size=40)
TEXT = st.one_of(WORDY, st.text(st.characters(exclude_categories=("Cs",)), max_size=60))
PAIRS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5)


def table(pairs):
    """One row of statistics per (context, output) pair, each distinct context listed once as in a real batch."""
    contexts = list(dict.fromkeys(context for context, _ in pairs))
    outputs = list(dict.fromkeys(output for _, output in pairs))
    context = np.array([contexts.index(context) for context, _ in pairs])
    output = np.array([outputs.index(output) for _, output in pairs])
    return surface_statistics(tokenize_pairs(contexts, outputs, context, output))


def measure(context, output):
    return dict(zip(NAMES, table([(context, output)])[0].tolist(), strict=True))


def share(part, whole, default=0.0):
    return part / whole if whole else default


def naive(context, output):
    """The word statistics with sets and loops, one pair at a time."""
    source, words = tokenize(context), tokenize(output)
    source_pairs = list(itertools.pairwise(source))
    pairs = list(itertools.pairwise(words))
    triples = list(zip(words, words[1:], words[2:], strict=False))
    taken = [pair in source_pairs for pair in pairs]
    longest = run = 0
    for hit in taken:
        run = run + 1 if hit else 0
        longest = max(longest, run + 1 if run else 0)
    longest = longest or int(any(word in source for word in words))
    places = [source_pairs.index(pair) / max(len(source) - 2, 1) for pair in pairs if pair in source_pairs]
    numbers = [word for word in words if word[:1].isdigit()]
    blocks = [words[at : at + 25] for at in range(0, len(words), 25)]
    return {
        "length_log_words": np.log1p(len(words)),
        "length_ratio": np.log1p(len(words)) - np.log1p(len(source)),
        "overlap_words": share(sum(word in source for word in words), len(words)),
        "overlap_bigrams": share(sum(taken), len(pairs)),
        "overlap_recall": share(len(set(words) & set(source)), len(set(source))),
        "novel_words": np.log1p(len(set(words) - set(source))),
        "copy_longest": np.log1p(longest),
        "copy_position": share(sum(places), len(places), 0.5),
        "repeat_bigrams": share(len(pairs) - len(set(pairs)), len(pairs)),
        "repeat_trigrams": share(len(triples) - len(set(triples)), len(triples)),
        "numbers_unsupported": share(sum(number not in source for number in numbers), len(numbers)),
        "variety_types": share(np.log(max(len(set(words)), 1)), np.log(max(len(words), 1)), 1.0),
        "variety_blocks": share(sum(len(set(block)) for block in blocks), len(words), 1.0),
        "words_length": np.log1p(share(sum(len(word.decode()) for word in words), len(words))),
    }


@given(PAIRS)
@example([("a b a b c", "a b c a b a 1"), ("", "a a"), ("a", ""), ("a b a b c", "")])
@example([("x " * 40, " ".join(f"w{n % 30}" for n in range(80)))])
def test_word_statistics_equal_a_naive_implementation(pairs):
    measured = table(pairs)
    for row, (context, output) in zip(measured, pairs, strict=True):
        for name, value in naive(context, output).items():
            assert row[NAMES.index(name)] == pytest.approx(value, rel=1e-12, abs=1e-12), name


@given(PAIRS)
def test_every_statistic_is_finite_and_shares_are_between_0_and_1(pairs):
    measured = table(pairs)
    assert measured.shape == (len(pairs), len(SURFACE_STATISTICS))
    assert np.isfinite(measured).all()
    bounded = [name for name in NAMES if not name.startswith(("length", "script", "copy_l", "format_", "novel"))]
    bounded = [name for name in bounded if name not in ("words_length", "sentences_length", "readability")]
    columns = measured[:, [NAMES.index(name) for name in bounded]]
    assert ((columns >= 0) & (columns <= 1)).all()


@given(PAIRS, st.randoms(use_true_random=False))
def test_statistics_of_a_pair_do_not_depend_on_other_pairs(pairs, random):
    """Alone, together and in any order a pair gets the same bits."""
    order = random.sample(range(len(pairs)), len(pairs))
    together = table(pairs)
    assert (table([pairs[at] for at in order]) == together[order]).all()
    assert all((table([pair])[0] == row).all() for pair, row in zip(pairs, together, strict=True))


def test_a_summary_measured_by_hand():
    """Context: 9 words, 8 distinct. Output: 7 words, 6 of them in the context, as are 4 of its 6 word pairs."""
    measured = measure("The old cat sat on the mat in 2019.", "The old cat slept on the mat.")
    assert measured["length_log_words"] == pytest.approx(np.log(8))
    assert measured["length_ratio"] == pytest.approx(np.log(8 / 10))
    assert measured["overlap_words"] == pytest.approx(6 / 7)
    assert measured["overlap_bigrams"] == pytest.approx(4 / 6)
    assert measured["overlap_recall"] == pytest.approx(5 / 8)
    assert measured["novel_words"] == pytest.approx(np.log(2))
    assert measured["copy_longest"] == pytest.approx(np.log(4))
    assert measured["copy_position"] == pytest.approx(np.mean([0, 1, 4, 5]) / 7)
    assert measured["ends_cleanly"] == 1.0
    assert measured["upper_share"] == pytest.approx(1 / 22)
    assert measured["punctuation_share"] == pytest.approx(1 / 29)
    assert measured["readability"] == pytest.approx(np.log1p(7))


def test_formatting_measured_by_hand():
    text = "# Plan\n- one\n- **two**\n3. three\n```\nx = 1\n```\n| a | b |\n| 1 | 2 |\nDone"
    measured = measure("", text)
    assert measured["format_lines"] == pytest.approx(np.log(10))
    assert measured["format_bullets"] == pytest.approx(3 / 10)
    assert measured["format_headings"] == pytest.approx(np.log(2))
    assert measured["format_code"] == pytest.approx(np.log(3))
    assert measured["format_bold"] == pytest.approx(np.log(2))
    assert measured["format_tables"] == pytest.approx(np.log(3))
    assert measured["digits_share"] == pytest.approx(4 / len(text))
    assert measured["ends_cleanly"] == 0.0


def test_sentences_are_split_at_their_ends_and_repeats_are_counted():
    measured = measure("", 'It works. "Really?" It works. Pi is 3.14 here!\nNo')
    assert measured["sentences_length"] == pytest.approx(np.log1p(11 / 5))
    assert measured["repeat_sentences"] == pytest.approx(1 / 5)
    assert measured["questions"] == pytest.approx(1 / 5)


def test_unsupported_numbers_hedges_and_refusals_are_detected():
    measured = measure("sales rose by 12 in May", "Sorry, it may be 12 or 15.")
    assert measured["numbers_unsupported"] == pytest.approx(1 / 2)
    assert measured["hedges"] == pytest.approx(1 / 7)
    assert measured["refusal"] == 1.0
    assert measure("", "It’s 12. I can’t help it" + " really" * 50)["refusal"] == 1.0
    assert measure("", "Fine. " * 50 + "Sorry")["refusal"] == 0.0


def test_compression_detects_repetition_and_copying():
    prose = "Colourless green ideas sleep furiously while seven dwarfs quietly juggle vexed onyx pyramids."
    assert measure("", prose * 8)["compress_ratio"] < 0.3 < measure("", prose)["compress_ratio"]
    assert measure(prose, prose)["compress_gain"] > 0.8
    assert measure("0123456789", prose)["compress_gain"] < 0.05


def test_an_answer_in_another_script_has_a_large_script_gap():
    assert measure("what is it", "это кошка")["script_gap"] > 0.8
    assert measure("что это", "это кошка")["script_gap"] < 0.1


@pytest.mark.parametrize(
    "text",
    [
        "." * MAX_CHARACTERS + "a",
        '"' * MAX_CHARACTERS,
        "." + '"' * MAX_CHARACTERS,
        " " * MAX_CHARACTERS + "a",
        "\n" * MAX_CHARACTERS,
        "a" * MAX_CHARACTERS,
        "#" * MAX_CHARACTERS,
        "\0" * 1000,
        "1." * (MAX_CHARACTERS // 2),
        "汉" * (MAX_CHARACTERS // 4),
        "👩‍👩‍👧" * 10_000,
        "שלום " * 10_000,
    ],
    ids=[
        "dots",
        "quotes",
        "dot and quotes",
        "spaces",
        "newlines",
        "letters",
        "hashes",
        "nul",
        "bullets",
        "cjk",
        "emoji",
        "rtl",
    ],
)
def test_adversarial_text_takes_linear_time_and_gives_finite_numbers(text):
    """A pattern that backtracks inside a run would take hours here; ten seconds allow for a busy machine."""
    began = time.process_time()
    assert np.isfinite(table([(text, text), ("short", text), (text, "short")])).all()
    assert time.process_time() - began < 10


def test_text_beyond_the_limit_is_ignored():
    long = "word " * (MAX_CHARACTERS // 5)
    assert measure("", long + "123 ?") == measure("", long)


def test_the_documented_statistics_are_the_computed_ones():
    """The table in docs/features.md is SURFACE_STATISTICS, row by row."""
    page = (Path(__file__).parents[2] / "docs" / "features.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| `(\w+)` \| (.+) \|$", page, flags=re.MULTILINE)
    assert tuple(documented) == SURFACE_STATISTICS
    assert len(set(NAMES)) == len(NAMES)
