"""The paper's cached summarization benchmark, on judged summaries of news articles."""
