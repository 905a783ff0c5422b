"""The lm-evaluation-harness: its dummy model on a task that generates text and on one with choices.

python lm_eval_tasks.py FOLDER
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from invented_calls import MODELS, Manifest, PlannedCall, planned_calls

REPEATS = 2
ANSWER = "lol"  # of the dummy model, whatever it is asked
GENERATED, CHOSEN = "parcels_written", "parcels_chosen"


def main(folder: str) -> None:
    """Write the documents and the tasks, run the harness per model, and write what its samples should be."""
    calls = planned_calls(("plain", "empty", "truncated"))
    documents = [{"question": call.messages[-1]["content"], "answer": target(call)} for call in calls]
    lines = [json.dumps(document, ensure_ascii=False) for document in documents]
    Path(folder, "documents.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_tasks(Path(folder))
    manifest = Manifest()
    for model in MODELS[:2]:
        command = [sys.executable, "-m", "lm_eval", "run", "--model", "dummy", "--model_args", f"pretrained={model}"]
        tasks = ["--tasks", f"{GENERATED},{CHOSEN}", "--include_path", folder]
        outputs = ["--output_path", f"{folder}/out", "--log_samples"]
        subprocess.run([*command, *tasks, *outputs], check=True, capture_output=True, text=True)
        for call in calls:
            asked = [["user", f"Q: {call.messages[-1]['content']}\nA:"]]
            names = {"conversation": "", "user": "", "model": model, "flags": []}
            for number in range(REPEATS):
                score = {"exact_match": float(target(call) == ANSWER)} if number == 0 else None
                manifest.add(call, **names, messages=asked, outputs=[ANSWER], score=score)
    manifest.write(folder)


def target(call: PlannedCall) -> str:
    """The right answer, which the dummy model gives for one model of the plan."""
    return ANSWER if call.model == MODELS[0] else "something else"


def write_tasks(folder: Path) -> None:
    """One task with two repetitions of generated text, and one of multiple choice."""
    shared = {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(folder / "documents.jsonl")}},
        "test_split": "test",
        "doc_to_text": "Q: {{question}}\nA:",
    }
    generated = {
        "task": GENERATED,
        **shared,
        "output_type": "generate_until",
        "doc_to_target": "{{answer}}",
        "generation_kwargs": {"until": ["\n\n"]},
        "repeats": REPEATS,
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
        "filter_list": [{"name": "first", "filter": [{"function": "take_first"}]}],
    }
    chosen = {
        "task": CHOSEN,
        **shared,
        "output_type": "multiple_choice",
        "doc_to_choice": ["yes", "no"],
        "doc_to_target": 0,
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    }
    for task in (generated, chosen):
        (folder / f"{task['task']}.yaml").write_text(json.dumps(task), encoding="utf-8")  # JSON is YAML, too


if __name__ == "__main__":
    main(sys.argv[1])
