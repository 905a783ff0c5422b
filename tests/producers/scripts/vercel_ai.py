"""The AI SDK of Vercel: writes the plan for ``vercel_ai.mjs``, runs it, and writes the manifest.

python vercel_ai.py FOLDER {5,7,7-legacy}
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from invented_calls import SERVED, Manifest, planned_calls

PROGRAM = Path(__file__).with_suffix(".mjs")


def main(folder: str, version: str) -> None:
    """Node looks for packages beside the program, so that it is copied to a folder with a link to them."""
    manifest, plan = Manifest(), []
    for number, call in enumerate(planned_calls()):
        served = call.model + SERVED
        names = {"conversation": call.conversation, "user": call.user, "model": call.model, "kind": call.kind}
        ids = {"response_id": f"r-{number}", "served_model": served, "finish_reason": call.finish_reason}
        plan.append({**names, **ids, "reply": call.reply, "messages": [message_of(one) for one in call.messages]})
        changed: dict[str, Any] = {"model": call.model if call.kind == "error" else served}
        if call.kind == "empty" and version == "5":  # it leaves the text out, as if outputs were not recorded
            changed |= {"outputs": [], "flags": ["no content"]}
        manifest.add(call, **changed)
    Path(folder, "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    Path(folder, "node_modules").symlink_to(Path(sys.executable).parent.parent / "node" / "node_modules")
    program = shutil.copy(PROGRAM, folder)
    node = Path(sys.executable).with_name("node")
    subprocess.run([str(node), program, folder, version], check=True)
    manifest.write(folder)


def message_of(message: dict[str, Any]) -> dict[str, Any]:
    """A message as the SDK takes it."""
    content, calls = message.get("content"), message.get("tool_calls")
    if message["role"] == "tool":
        output = {"type": "text", "value": content}
        names = {"toolCallId": message["tool_call_id"], "toolName": "find_parcel"}
        return {"role": "tool", "content": [{"type": "tool-result", **names, "output": output}]}
    if calls:
        function = calls[0]["function"]
        part = {"toolCallId": calls[0]["id"], "toolName": function["name"], "input": json.loads(function["arguments"])}
        return {"role": "assistant", "content": [{"type": "tool-call", **part}]}
    if isinstance(content, list):
        return {"role": "user", "content": [content[0], {"type": "image", "image": content[1]["image_url"]["url"]}]}
    return {"role": message["role"], "content": content}


if __name__ == "__main__":
    main(*sys.argv[1:])
