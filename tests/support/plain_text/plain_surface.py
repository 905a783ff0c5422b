"""Surface statistics: what can be measured on an output next to its context, without understanding either.

Hashed words are of little use on a context with new words; length, copying, repetition and formatting have the same
meaning everywhere. Every statistic is a share, a bounded score or a logarithm, and finite for any text, so that no
single output can dominate. Hedges and refusals are recognized in English only.
"""

from __future__ import annotations

import numpy as np

from deconfound.design import FloatArray
from tests.support.plain_text.plain_characters import REFUSAL_SPAN, CharacterCounts, compressed_sizes, count_characters
from tests.support.plain_text.plain_overlap import BLOCK_WORDS, Overlap, Repetition, measure_overlap, measure_repetition
from tests.support.plain_text.plain_words import TokenizedPairs

LONG_WORD = 6
"""Words of more characters than this count as long in the readability index."""

_HEDGES = (
    *(b"may", b"might", b"could", b"perhaps", b"maybe", b"possibly", b"probably", b"likely", b"seems", b"seem"),
    *(b"appears", b"apparently", b"generally", b"typically", b"usually", b"often", b"sometimes", b"somewhat"),
    *(b"roughly", b"approximately", b"think", b"believe", b"guess", b"unsure", b"uncertain", b"unclear"),
)

SURFACE_STATISTICS: tuple[tuple[str, str], ...] = (
    ("length_log_chars", "log of 1 + characters"),
    ("length_log_words", "log of 1 + words"),
    ("length_ratio", "log of (1 + words) / (1 + words of the context)"),
    ("compress_ratio", "compressed size over size in bytes, at most 1; low for repetitive text"),
    ("compress_gain", "share of the compressed size saved when the compressor has seen the context"),
    ("overlap_words", "share of words that occur in the context"),
    ("overlap_bigrams", "share of word pairs that occur in the context"),
    ("overlap_recall", "share of the context's distinct words that occur in the output"),
    ("novel_words", "log of 1 + distinct words that do not occur in the context"),
    ("copy_longest", "log of 1 + words in the longest run of word pairs that all occur in the context"),
    ("copy_position", "mean position in the context of the word pairs taken from it: 0 start, 1 end, 0.5 if none"),
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
    ("numbers_unsupported", "share of numbers that do not occur in the context; 0 without numbers"),
    ("punctuation_share", "share of characters that are ASCII punctuation"),
    ("upper_share", "share of ASCII letters that are upper case"),
    ("script_gap", "absolute difference from the context in UTF-8 bytes per character: another script or many symbols"),
    ("variety_types", "log of distinct words over log of words; 1 if no word repeats"),
    ("variety_blocks", f"share of words that are new within their block of {BLOCK_WORDS} words"),
    ("words_length", "log of 1 + mean characters per word"),
    ("sentences_length", "log of 1 + mean words per sentence"),
    ("readability", f"log of 1 + LIX: words per sentence plus the percentage of words over {LONG_WORD} characters"),
    ("questions", "question marks per sentence, at most 1"),
    ("hedges", "share of words that hedge: may, perhaps, roughly"),
    ("refusal", f"1 if the first {REFUSAL_SPAN} characters apologize or decline"),
    ("ends_cleanly", "1 if the last character closes a sentence, a bracket, a quotation or a code block"),
)
"""Name and meaning of each statistic of the output, in the order of the columns."""


def surface_statistics(pairs: TokenizedPairs) -> FloatArray:
    """The statistics before scaling: one row per pair, one column per entry of ``SURFACE_STATISTICS``."""
    counts = count_characters(pairs.outputs)
    repetition = measure_repetition(pairs.output_tokens, len(pairs.vocabulary))
    by_output = _format(counts) | _repetition(pairs, counts, repetition) | _lexical(pairs, counts)
    columns = {name: values[pairs.output] for name, values in by_output.items()}
    columns |= _context_overlap(measure_overlap(pairs)) | _compression(pairs, counts)
    columns |= {"script_gap": _script_gap(pairs, counts)}
    return np.column_stack([columns[name] for name, _ in SURFACE_STATISTICS])


def _format(counts: CharacterCounts) -> dict[str, FloatArray]:
    return {
        "length_log_chars": np.log1p(counts.chars),
        "format_lines": np.log(counts.lines),
        "format_bullets": counts.bullets / counts.lines,
        "format_headings": np.log1p(counts.headings),
        "format_code": np.log1p(counts.fences),
        "format_bold": np.log1p(counts.bold),
        "format_tables": np.log1p(counts.tables),
        "digits_share": _share(counts.digits, counts.chars),
        "punctuation_share": _share(counts.punctuation, counts.chars),
        "upper_share": _share(counts.upper, counts.letters),
        "questions": np.minimum(_share(counts.questions, counts.sentences), 1.0),
        "refusal": counts.refusal,
        "ends_cleanly": counts.ends_cleanly,
    }


def _repetition(pairs: TokenizedPairs, counts: CharacterCounts, repetition: Repetition) -> dict[str, FloatArray]:
    words = pairs.output_tokens.counts.astype(np.float64)
    bigrams, trigrams = np.maximum(words - 1, 0), np.maximum(words - 2, 0)
    log_distinct, log_words = np.log(np.maximum(repetition.distinct, 1)), np.log(np.maximum(words, 1))
    return {
        "repeat_bigrams": _share(bigrams - repetition.distinct_bigrams, bigrams),
        "repeat_trigrams": _share(trigrams - repetition.distinct_trigrams, trigrams),
        "repeat_sentences": _share(counts.repeated_sentences, counts.sentences),
        "variety_types": _share(log_distinct, log_words, default=1.0),
        "variety_blocks": _share(repetition.distinct_in_blocks, words, default=1.0),
    }


def _lexical(pairs: TokenizedPairs, counts: CharacterCounts) -> dict[str, FloatArray]:
    tokens, text = pairs.output_tokens, pairs.output_tokens.text_of_token
    lengths = pairs.vocabulary.lengths()[tokens.token_ids]
    words = tokens.counts.astype(np.float64)
    total, long, hedges = (
        np.bincount(text, weights=weights, minlength=len(words)).astype(np.float64)
        for weights in (lengths, lengths > LONG_WORD, pairs.vocabulary.indicator(_HEDGES)[tokens.token_ids])
    )
    words_per_sentence = _share(words, counts.sentences)
    return {
        "words_length": np.log1p(_share(total, words)),
        "sentences_length": np.log1p(words_per_sentence),
        "readability": np.log1p(words_per_sentence + 100.0 * _share(long, words)),
        "hedges": _share(hedges, words),
    }


def _context_overlap(overlap: Overlap) -> dict[str, FloatArray]:
    return {
        "length_log_words": np.log1p(overlap.words),
        "length_ratio": np.log1p(overlap.words) - np.log1p(overlap.context_words),
        "overlap_words": _share(overlap.in_context, overlap.words),
        "overlap_bigrams": _share(overlap.bigrams_in_context, overlap.bigrams),
        "overlap_recall": _share(overlap.context_words_used, overlap.context_distinct),
        "novel_words": np.log1p(overlap.novel),
        "copy_longest": np.log1p(overlap.longest_copied_run),
        "copy_position": overlap.position,
        "numbers_unsupported": _share(overlap.numbers - overlap.numbers_in_context, overlap.numbers),
    }


def _compression(pairs: TokenizedPairs, counts: CharacterCounts) -> dict[str, FloatArray]:
    alone, after_context = compressed_sizes(pairs)
    return {
        "compress_ratio": np.minimum(_share(alone, counts.bytes[pairs.output], default=1.0), 1.0),
        "compress_gain": np.clip(1.0 - after_context / alone, 0.0, 1.0),
    }


def _script_gap(pairs: TokenizedPairs, counts: CharacterCounts) -> FloatArray:
    chars = np.array([len(text) for text in pairs.contexts], dtype=np.float64)
    size = np.array([len(text.encode()) for text in pairs.contexts], dtype=np.float64)
    output = _share(counts.bytes, counts.chars, default=1.0)[pairs.output]
    return np.abs(output - _share(size, chars, default=1.0)[pairs.context])


def _share(part: FloatArray, whole: FloatArray, default: float = 0.0) -> FloatArray:
    """part / whole, and ``default`` where the whole is 0."""
    shares: FloatArray = np.divide(part, whole, out=np.full(len(whole), default), where=whole > 0)
    return shares
