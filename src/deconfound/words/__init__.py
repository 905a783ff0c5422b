"""Words of a text, their hashed columns and its style: what the features and a router of prompts share; numpy only."""
