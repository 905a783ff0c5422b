"""Studies with long logs: log rows on contexts of the experiment are about the topics of these contexts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchmarks.long_log_studies import World


def topics_of(texts: pa.ChunkedArray, topic_of: dict[str, int]) -> list[int]:
    """The most frequent topic among the sentences of each text."""
    counts = (np.bincount([topic_of[f"{part.strip('.')}."] for part in text.split(". ")]) for text in texts.to_pylist())
    return [int(count.argmax()) for count in counts]


def test_outputs_on_contexts_of_the_experiment_have_their_topics():
    """A context's sentences all have its topic; an output's have it with a probability of about 0.5, of eight topics.

    The most frequent topic of 25 sentences is then almost always the context's. Outputs drawn for any topic would have
    it in one of eight cases.
    """
    world = World(seed=0, strength=0.3, on_replayed=0.2, sentences=25)
    experiment, _, _ = world.experiment_and_replay(60)
    log = pa.concat_tables(world.log_pieces(400, experiment))
    sentences, topic, _, _ = world._sentences
    topic_of = dict(zip(sentences.to_pylist(), topic.tolist(), strict=True))
    again = np.array([name.startswith("e") for name in log["context_id"].to_pylist()])
    assert 50 < again.sum() < 120
    for rows in (again, ~again):
        part = log.filter(pa.array(rows))
        same = np.equal(topics_of(part["context"], topic_of), topics_of(part["output"], topic_of))
        assert same.mean() > 0.9
