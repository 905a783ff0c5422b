"""Coding: patches for real issues, judged by their tests and their text, under twenty-five reward definitions."""
