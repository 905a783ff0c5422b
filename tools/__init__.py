"""Commands for maintainers; run one with ``python -m tools.NAME``."""
