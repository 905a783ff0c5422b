"""A team with a LiteLLM gateway: direct use that favors the worse model, a weighted router, feedback and a replay."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

GOOD, POOR = "cedar-2", "aspen-1"
SHARES = {GOOD: 0.3, POOR: 0.7}
TOPICS = ("parcel", "refund", "invoice", "password", "delivery", "warranty", "address", "discount")


class Gateway:
    """Draws questions, answers and thumbs; the poor model gets the easy questions in the log."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.time = 1_790_000_000.0
        self.feedback: list[dict[str, object]] = []

    def question(self, number: int, *, easy: bool) -> str:
        topic = TOPICS[int(self.rng.integers(len(TOPICS)))]
        kind = "Quick question" if easy else "Long and tricky case with several open points"
        return f"{kind}: what happens with my {topic} number {number}?"

    def answer(self, model: str) -> str:
        good = "Here is what you can do, step by step, and I have checked your account"
        return (
            f"{good}: {self.rng.integers(1000)}."
            if model == GOOD
            else f"Please see our pages. {self.rng.integers(1000)}"
        )

    def record(self, number: int, *, routed: bool) -> dict[str, object]:
        """One call, and perhaps a thumb; four of five users who are asked rate."""
        easy = bool(self.rng.random() < 0.5)
        chance_of_poor = SHARES[POOR] if routed else (0.9 if easy else 0.1)
        model = POOR if self.rng.random() < chance_of_poor else GOOD
        liked = 0.35 + 0.25 * (model == GOOD) + 0.35 * easy
        call_id = f"{'r' if routed else 'd'}-{number}"
        if self.rng.random() < 0.8:
            thumb = "👍" if self.rng.random() < liked else "👎"
            self.feedback.append({"request": call_id, "thumbs": thumb, "comment": "x"})
        self.time += 60.0
        answer = self.answer(model)
        return {
            "id": f"cc-{call_id}",
            "trace_id": f"t-{call_id}",
            "litellm_call_id": call_id,
            "call_type": "acompletion",
            "status": "success",
            "startTime": self.time,
            "endTime": self.time + 1,
            "model": f"openai/{model}",
            "model_group": "chat" if routed else model,
            "custom_llm_provider": "openai",
            "messages": [{"role": "user", "content": self.question(number, easy=easy)}],
            "response": {
                "id": f"cc-{call_id}",
                "model": model,
                "choices": [{"index": 0, "message": {"role": "assistant", "content": answer}}],
            },
            "end_user": f"u-{call_id}",
            "request_tags": [],
            "cache_hit": False,
            "metadata": {},
            "hidden_params": {"additional_headers": {"x-litellm-attempted-fallbacks": 0}},
        }


def write_gateway(folder: Path, *, direct: int = 400, routed: int = 240, seed: int = 0) -> None:
    """traces/direct.jsonl, traces/routed.jsonl, feedback.csv, and batches/ with requests and answers of both models."""
    gateway = Gateway(seed)
    (folder / "traces").mkdir(parents=True)
    (folder / "batches").mkdir()
    rows = {
        "direct": [gateway.record(n, routed=False) for n in range(direct)],
        "routed": [gateway.record(n, routed=True) for n in range(routed)],
    }
    for name, records in rows.items():
        _write_lines(folder / "traces" / f"{name}.jsonl", records)
    with (folder / "feedback.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["request", "thumbs", "comment"])
        writer.writeheader()
        writer.writerows(gateway.feedback)
    questions = [record["messages"] for record in rows["routed"]]
    for model in SHARES:
        ids = [f"c{n}|{model}|0" for n in range(len(questions))]
        bodies = [{"model": model, "messages": messages} for messages in questions]
        requests = [
            {"custom_id": i, "method": "POST", "url": "/v1/chat/completions", "body": b}
            for i, b in zip(ids, bodies, strict=True)
        ]
        _write_lines(folder / "batches" / f"{model}-requests.jsonl", requests)
        answers = [
            {
                "id": f"b{i}",
                "custom_id": i,
                "response": {
                    "status_code": 200,
                    "body": {
                        "id": i,
                        "model": model,
                        "choices": [{"index": 0, "message": {"role": "assistant", "content": gateway.answer(model)}}],
                    },
                },
                "error": None,
            }
            for i in reversed(ids)
        ]
        _write_lines(folder / "batches" / f"{model}-answers.jsonl", answers)


def _write_lines(path: Path, records: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
