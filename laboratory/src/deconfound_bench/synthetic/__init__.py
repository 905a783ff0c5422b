"""The controlled validation: real programs on news-like articles, with a known law of liking."""
