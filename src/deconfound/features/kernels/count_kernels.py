"""Characters and lines of texts: fields 0 to 11 of ``CharacterCounts``."""

from __future__ import annotations

import numpy as np

from deconfound.features.kernels.compile_kernel import BYTES, INTS, Array, Number, compiled, inlined

DIGIT, UPPER, LOWER, PUNCTUATION = 1, 2, 3, 4
"""Entries of ``classes``, by byte."""

_NEWLINE, _SPACE, _TAB, _HASH, _BAR, _TICK = 10, 32, 9, 35, 124, 96
_STAR, _PLUS, _MINUS, _POINT, _BRACKET = 42, 43, 45, 46, 41
_BULLET_SIGN = (0xE2, 0x80, 0xA2)  # the bytes of U+2022


@inlined
def _count_bytes(data: Array, start: Number, stop: Number, classes: Array, counts: Array) -> None:
    """Code points, bytes, digits, upper case, letters and punctuation: fields 0 to 5."""
    kinds = np.zeros(5, dtype=np.int64)
    points = 0
    for at in range(start, stop):
        kinds[classes[data[at]]] += 1
        points += data[at] & 0xC0 != 0x80
    counts[0], counts[1], counts[2], counts[3] = points, stop - start, kinds[DIGIT], kinds[UPPER]
    counts[4], counts[5] = kinds[UPPER] + kinds[LOWER], kinds[PUNCTUATION]


@inlined
def _is_blank(data: Array, at: Number, stop: Number) -> Number:
    return at < stop and (data[at] == _SPACE or data[at] == _TAB)


@inlined
def _is_bullet(data: Array, at: Number, stop: Number) -> Number:
    """Whether a bullet or a number of one to three digits stands here, before a blank."""
    if at >= stop:
        return False
    if data[at] == _MINUS or data[at] == _STAR or data[at] == _PLUS:
        return _is_blank(data, at + 1, stop)
    if data[at] == _BULLET_SIGN[0]:
        whole = at + 3 < stop and data[at + 1] == _BULLET_SIGN[1] and data[at + 2] == _BULLET_SIGN[2]
        return whole and _is_blank(data, at + 3, stop)
    digits = 0
    while at + digits < stop and digits < 4 and 0x30 <= data[at + digits] <= 0x39:
        digits += 1
    after = at + digits
    if not 1 <= digits <= 3 or after >= stop:
        return False
    return (data[after] == _POINT or data[after] == _BRACKET) and _is_blank(data, after + 1, stop)


@inlined
def _count_lines(data: Array, start: Number, stop: Number, counts: Array) -> None:
    """Lines, bullets, headings, code fences, bold passages and table rows: fields 6 to 11."""
    lines, bullets, headings, fences, stars, tables = 0, 0, 0, 0, 0, 0
    at = start
    while at <= stop:
        lines += 1
        hashes = 0
        while at + hashes < stop and hashes < 7 and data[at + hashes] == _HASH:
            hashes += 1
        headings += 1 <= hashes <= 6 and at + hashes < stop and data[at + hashes] == _SPACE
        text = at
        while _is_blank(data, text, stop):
            text += 1
        bullets += _is_bullet(data, text, stop)
        tables += text < stop and data[text] == _BAR
        while at < stop and data[at] != _NEWLINE:
            sign, run = data[at], 1
            at += 1
            if sign == _TICK or sign == _STAR:
                while at < stop and data[at] == sign:
                    run += 1
                    at += 1
                fences += run // 3 if sign == _TICK else 0
                stars += run // 2 if sign == _STAR else 0
        at += 1
    counts[6], counts[7], counts[8] = lines, bullets, headings
    counts[9], counts[10], counts[11] = fences, stars // 2, tables


@compiled(f"void({BYTES}, {INTS}, {INTS}, {BYTES}, int64[:, ::1])")
def count_lines(data: Array, starts: Array, stops: Array, classes: Array, counts: Array) -> None:
    """Count bytes by class, and lines by what they begin with."""
    for text in range(len(starts)):
        _count_bytes(data, starts[text], stops[text], classes, counts[text])
        _count_lines(data, starts[text], stops[text], counts[text])


@compiled(f"int64[::1]({BYTES}, {INTS}, {INTS})")
def count_points(data: Array, starts: Array, stops: Array) -> Array:
    """Code points of each text."""
    points = np.zeros(len(starts), dtype=np.int64)
    for text in range(len(starts)):
        for at in range(starts[text], stops[text]):
            points[text] += data[at] & 0xC0 != 0x80
    return points
