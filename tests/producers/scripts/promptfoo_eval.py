"""promptfoo: its echo provider and a provider of our own, two prompts, and every test twice.

python promptfoo_eval.py FOLDER
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from invented_calls import MODELS, Manifest, PlannedCall, planned_calls

REPEATS = 2
FAILED_ASSERTIONS = 100  # the exit code of promptfoo
ECHO, PLANNED = MODELS[:2]
PROVIDER = Path(__file__).with_name("promptfoo_provider.mjs")
CHAT = '[{"role": "system", "content": "Be kind."}, {"role": "user", "content": {{question | dump}}}]'
PROMPTS = [{"label": "plain", "raw": "Question: {{question}}"}, {"label": "chat", "raw": CHAT}]
PROVIDERS = [
    {"id": "echo", "label": ECHO, "transform": "`Echo: ${context.vars.question}`"},
    {"id": f"file://{PROVIDER}", "label": PLANNED},
]
ASSERTIONS = [
    {"type": "icontains", "value": "parcel", "metric": "on_topic"},
    {"type": "javascript", "value": "output.length < 40", "metric": "brief"},
]


def main(folder: str) -> None:
    """Write the configuration, run promptfoo, and write what its results should be."""
    calls = planned_calls(("plain", "empty", "truncated", "error"))
    tests = [{"vars": variables(call), "assert": ASSERTIONS, "metadata": {"kind": call.kind}} for call in calls]
    config = Path(folder, "config.json")
    config.write_text(json.dumps({"prompts": PROMPTS, "providers": PROVIDERS, "tests": tests}), encoding="utf-8")
    program = Path(sys.executable).parent.parent / "node" / "node_modules" / ".bin" / "promptfoo"
    command = [str(program), "eval", "-c", str(config), "--no-cache", "--no-table", "--no-progress-bar", "--no-share"]
    outputs = ["-o", f"{folder}/results.json", "-o", f"{folder}/results.jsonl", "--repeat", str(REPEATS)]
    done = subprocess.run([*command, *outputs], capture_output=True, text=True, check=False)
    if done.returncode not in (0, FAILED_ASSERTIONS):
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    manifest = Manifest()
    for call in calls:
        for prompt in PROMPTS:
            for model in (ECHO, PLANNED):
                for _ in range(REPEATS):
                    add(manifest, call, prompt["label"], model)
    manifest.write(folder)


def variables(call: PlannedCall) -> dict[str, str]:
    """What the prompts and our provider use."""
    return {
        "question": call.messages[-1]["content"],
        "answer": "REFUSED" if call.kind == "error" else call.reply["content"],
    }


def add(manifest: Manifest, call: PlannedCall, prompt: str, model: str) -> None:
    """One result, and the mean of its assertions."""
    question = call.messages[-1]["content"]
    asked = [["system", "Be kind."], ["user", question]] if prompt == "chat" else [["user", f"Question: {question}"]]
    failed = model == PLANNED and call.kind == "error"
    text = f"Echo: {question}" if model == ECHO else call.reply["content"]
    scores: dict[str, Any] = {"on_topic": float("parcel" in text.lower()), "brief": float(length(text) < 40)}
    scores |= {"score": sum(scores.values()) / 2, "success": float(all(scores.values()))}
    manifest.add(
        call,
        conversation="",
        user="",
        model=model,
        messages=asked,
        outputs=[] if failed else [text],
        flags=["error"] if failed else [],
        score=None if failed else scores,
    )


def length(text: str) -> int:
    """The length as JavaScript counts it."""
    return len(text.encode("utf-16-le")) // 2


if __name__ == "__main__":
    main(sys.argv[1])
