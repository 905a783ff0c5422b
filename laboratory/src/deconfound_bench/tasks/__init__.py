"""The three tasks with cached outputs: summarization, coding and instructions."""
