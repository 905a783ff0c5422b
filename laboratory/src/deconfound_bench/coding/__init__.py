"""The coding benchmark: cached patches for real issues, and what can be read off their text."""
