"""A routing policy in use: read its file and choose a model for a prompt; numpy and the standard library only."""
