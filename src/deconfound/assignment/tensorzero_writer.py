"""The experiment as a function of tensorzero.toml: one variant per model, drawn once per episode."""

from __future__ import annotations

from collections.abc import Mapping

from deconfound.assignment.manifest import AssignmentManifest
from deconfound.escaping import quoted_string


def tensorzero_toml(manifest: AssignmentManifest, names: Mapping[str, str]) -> str:
    """``names`` are TensorZero's names of the models, such as openai::cedar; variants have ours."""
    function = f"functions.{quoted_string(manifest.group)}"
    weights = ", ".join(f"{quoted_string(name)} = {value!r}" for name, value in manifest.rule.propensities.items())
    lines = [
        f"# Experiment {manifest.rule.experiment}.",
        f"[{function}]",
        'type = "chat"',
        "",
        f"[{function}.experimentation]",
        'type = "static"',
        f"candidate_variants = {{ {weights} }}",
    ]
    for model in manifest.rule.models:
        variant = f"[{function}.variants.{quoted_string(model)}]"
        lines += ["", variant, 'type = "chat_completion"', f"model = {quoted_string(names[model])}"]
    return "\n".join([*lines, ""])
