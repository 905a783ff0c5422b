"""Surface statistics: what shows on an output, next to its context, without understanding either.

Hashed words say little about a context never seen before; how long, how copied, how repetitive and how formatted an
output is means the same everywhere. Every statistic is a share, a bounded score or a logarithm, and finite for any
text, so that no single output can dominate. Hedges and refusals are recognised in English only.
"""

from __future__ import annotations

import numpy as np

from deconfound.design import FloatArray
from deconfound.features.characters import REFUSAL_SPAN, Strings, compressed, read_strings
from deconfound.features.overlap import BLOCK, Overlap, Variety, read_overlap, read_variety
from deconfound.features.texts import Texts

LONG_WORD = 6
"""Words of more characters than this count as long in the readability index."""

_HEDGES = (
    *(b"may", b"might", b"could", b"perhaps", b"maybe", b"possibly", b"probably", b"likely", b"seems", b"seem"),
    *(b"appears", b"apparently", b"generally", b"typically", b"usually", b"often", b"sometimes", b"somewhat"),
    *(b"roughly", b"approximately", b"think", b"believe", b"guess", b"unsure", b"uncertain", b"unclear"),
)

SURFACE: tuple[tuple[str, str], ...] = (
    ("length_log_chars", "log of 1 + characters"),
    ("length_log_words", "log of 1 + words"),
    ("length_ratio", "log of (1 + words) / (1 + words of the context)"),
    ("compress_ratio", "compressed size over size in bytes, at most 1; low for monotonous text"),
    ("compress_gain", "share of the compressed size saved when the context is known"),
    ("overlap_words", "share of words that occur in the context"),
    ("overlap_bigrams", "share of word pairs that occur in the context"),
    ("overlap_recall", "share of the context's distinct words that are used"),
    ("novel_words", "log of 1 + distinct words that the context lacks"),
    ("copy_longest", "log of 1 + words in the longest run whose neighbouring words all stand together in the context"),
    ("copy_position", "where in the context the shared word pairs first stand: 0 its start, 1 its end, 0.5 if none"),
    ("repeat_bigrams", "share of word pairs that repeat an earlier one"),
    ("repeat_trigrams", "share of word triples that repeat an earlier one"),
    ("repeat_sentences", "share of sentences that repeat an earlier one"),
    ("format_lines", "log of the number of lines"),
    ("format_bullets", "share of lines that begin with a bullet or a number"),
    ("format_headings", "log of 1 + Markdown headings"),
    ("format_code", "log of 1 + code fences"),
    ("format_bold", "log of 1 + bold passages"),
    ("format_tables", "log of 1 + table rows"),
    ("digits_share", "share of characters that are digits"),
    ("numbers_unsupported", "share of numbers that the context lacks; 0 without numbers"),
    ("punctuation_share", "share of characters that are ASCII punctuation"),
    ("upper_share", "share of ASCII letters that are upper case"),
    ("script_gap", "difference to the context in UTF-8 bytes a character: another script or many symbols"),
    ("variety_types", "log of distinct words over log of words; 1 if no word repeats"),
    ("variety_blocks", f"share of words that are new within their block of {BLOCK} words"),
    ("words_length", "log of 1 + mean characters a word"),
    ("sentences_length", "log of 1 + mean words a sentence"),
    ("readability", f"log of 1 + LIX: words a sentence plus the percentage of words over {LONG_WORD} characters"),
    ("questions", "question marks a sentence, at most 1"),
    ("hedges", "share of words that hedge: may, perhaps, roughly"),
    ("refusal", f"1 if the first {REFUSAL_SPAN} characters apologise or decline"),
    ("ends_cleanly", "1 if the last character closes a sentence, a bracket, a quotation or a code block"),
)
"""Name and meaning of each statistic of the output, in the order of the columns."""


def surface(texts: Texts) -> FloatArray:
    """The raw statistics, one row a pair and one column an entry of ``SURFACE``; not yet standardised."""
    overlap = read_overlap(texts)
    strings = read_strings(texts.outputs)
    variety = read_variety(texts.output_words, len(texts.vocabulary))
    by_output = _form(strings) | _repetition(texts, strings, variety) | _wording(texts, strings)
    columns = {name: values[texts.output] for name, values in by_output.items()}
    columns |= _shared(overlap) | _compression(texts, strings) | {"script_gap": _script_gap(texts, strings)}
    return np.column_stack([columns[name] for name, _ in SURFACE])


def _form(strings: Strings) -> dict[str, FloatArray]:
    return {
        "length_log_chars": np.log1p(strings.chars),
        "format_lines": np.log(strings.lines),
        "format_bullets": strings.bullets / strings.lines,
        "format_headings": np.log1p(strings.headings),
        "format_code": np.log1p(strings.fences),
        "format_bold": np.log1p(strings.bold),
        "format_tables": np.log1p(strings.tables),
        "digits_share": _share(strings.digits, strings.chars),
        "punctuation_share": _share(strings.punctuation, strings.chars),
        "upper_share": _share(strings.upper, strings.letters),
        "questions": np.minimum(_share(strings.questions, strings.sentences), 1.0),
        "refusal": strings.refusal,
        "ends_cleanly": strings.clean,
    }


def _repetition(texts: Texts, strings: Strings, variety: Variety) -> dict[str, FloatArray]:
    words = texts.output_words.counts.astype(np.float64)
    bigrams, trigrams = np.maximum(words - 1, 0), np.maximum(words - 2, 0)
    return {
        "repeat_bigrams": _share(bigrams - variety.distinct_bigrams, bigrams),
        "repeat_trigrams": _share(trigrams - variety.distinct_trigrams, trigrams),
        "repeat_sentences": _share(strings.repeated, strings.sentences),
        "variety_types": _share(np.log(np.maximum(variety.distinct, 1)), np.log(np.maximum(words, 1)), default=1.0),
        "variety_blocks": _share(variety.distinct_in_blocks, words, default=1.0),
    }


def _wording(texts: Texts, strings: Strings) -> dict[str, FloatArray]:
    words, text = texts.output_words, texts.output_words.text
    lengths = texts.vocabulary.lengths()[words.codes]
    counts = words.counts.astype(np.float64)
    total, long, hedges = (
        np.bincount(text, weights=weights, minlength=len(counts)).astype(np.float64)
        for weights in (lengths, lengths > LONG_WORD, texts.vocabulary.marked(_HEDGES)[words.codes])
    )
    sentence = _share(counts, strings.sentences)
    return {
        "words_length": np.log1p(_share(total, counts)),
        "sentences_length": np.log1p(sentence),
        "readability": np.log1p(sentence + 100.0 * _share(long, counts)),
        "hedges": _share(hedges, counts),
    }


def _shared(overlap: Overlap) -> dict[str, FloatArray]:
    return {
        "length_log_words": np.log1p(overlap.words),
        "length_ratio": np.log1p(overlap.words) - np.log1p(overlap.context_words),
        "overlap_words": _share(overlap.known, overlap.words),
        "overlap_bigrams": _share(overlap.known_bigrams, overlap.bigrams),
        "overlap_recall": _share(overlap.recalled, overlap.context_distinct),
        "novel_words": np.log1p(overlap.novel),
        "copy_longest": np.log1p(overlap.run),
        "copy_position": overlap.position,
        "numbers_unsupported": _share(overlap.numbers - overlap.known_numbers, overlap.numbers),
    }


def _compression(texts: Texts, strings: Strings) -> dict[str, FloatArray]:
    alone, given = compressed(texts)
    return {
        "compress_ratio": np.minimum(_share(alone, strings.bytes[texts.output], default=1.0), 1.0),
        "compress_gain": np.clip(1.0 - given / alone, 0.0, 1.0),
    }


def _script_gap(texts: Texts, strings: Strings) -> FloatArray:
    chars = np.array([len(text) for text in texts.contexts], dtype=np.float64)
    size = np.array([len(text.encode()) for text in texts.contexts], dtype=np.float64)
    inside = _share(strings.bytes, strings.chars, default=1.0)[texts.output]
    return np.abs(inside - _share(size, chars, default=1.0)[texts.context])


def _share(part: FloatArray, whole: FloatArray, default: float = 0.0) -> FloatArray:
    """part / whole, and ``default`` where there is no whole."""
    shares: FloatArray = np.divide(part, whole, out=np.full(len(whole), default), where=whole > 0)
    return shares
