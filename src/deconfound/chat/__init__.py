"""Messages of conversations with models, in the shapes of every provider and framework, as plain text."""
