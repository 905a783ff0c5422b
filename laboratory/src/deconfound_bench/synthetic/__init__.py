"""The controlled validation: real summarization programs on articles, with a known data-generating process."""
