"""Loops over bytes and words, compiled by Numba; imported only when text is first read."""
