"""A router's configuration file -> the groups that it draws for: LiteLLM, TensorZero or GrowthBook."""

from __future__ import annotations

import codecs
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from deconfound.escaping import readable_path
from deconfound.formatting import quote
from deconfound.loading.files import file_error, resolve_file
from deconfound.traces.growthbook_config import growthbook_groups
from deconfound.traces.json_objects import parse_json
from deconfound.traces.litellm_config import litellm_groups
from deconfound.traces.router_weights import RouterConfig
from deconfound.traces.tensorzero_config import tensorzero_groups
from deconfound.traces.yaml_nodes import parse_yaml

MAX_BYTES = 10_000_000  # a configuration of this size is none
EXTENSIONS = (".yaml", ".yml", ".toml")
"""Files that can be nothing else to us; JSON may also be traces."""
EXPECTED = (
    "Give LiteLLM's config.yaml (or the same as JSON), TensorZero's tensorzero.toml, or GrowthBook's features as JSON."
)


def read_router_config(path: Path) -> RouterConfig:
    """Read the groups of a configuration; other files raise."""
    source = readable_path(path)
    if not path.is_file():
        resolve_file(path, source)  # raises, and says what is there instead
    config = _parse(path, source)
    if isinstance(config, dict) and isinstance(config.get("model_list"), list):
        return RouterConfig(source, litellm_groups(config))
    if isinstance(config, dict) and isinstance(config.get("functions"), dict):
        return RouterConfig(source, tensorzero_groups(config))
    if isinstance(config, dict) and isinstance(config.get("features"), dict):
        return RouterConfig(source, growthbook_groups(config))
    what = "there is no model_list of LiteLLM, no functions of TensorZero and no features of GrowthBook in it"
    raise file_error(source, what, EXPECTED)


def split_configs(paths: Iterable[str]) -> tuple[list[str], list[Path]]:
    """Paths of traces, and the configurations that are named beside them."""
    traces, configs = [], []
    for given in paths:
        path = Path(given)
        if path.suffix.lower() in EXTENSIONS and path.is_file():
            configs.append(path)
        else:
            traces.append(given)
    return traces, configs


def _parse(path: Path, source: str) -> Any:  # noqa: ANN401  (whatever the file holds)
    text = _text(path, source)
    extension = path.suffix.lower()
    if extension == ".json":
        parsed = parse_json(text.encode())
        if parsed.fault:
            raise file_error(source, f"the content is {parsed.fault}", EXPECTED)
        return parsed.value
    if extension == ".toml":
        try:
            return tomllib.loads(text)
        except RecursionError:
            raise file_error(source, "the TOML is nested too deeply", EXPECTED) from None
        except ValueError as error:
            raise file_error(source, f"this is no valid TOML: {quote(error)}", EXPECTED) from None
    if extension in EXTENSIONS:
        return parse_yaml(text, source)
    raise file_error(source, f"unsupported file extension {quote(extension or path.name)}", EXPECTED)


def _text(path: Path, source: str) -> str:
    if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would keep us waiting
        raise file_error(source, "this is a pipe or a device, not a file", EXPECTED)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise file_error(source, f"the file has more than {MAX_BYTES // 10**6} MB", EXPECTED)
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        raise file_error(source, "the content is not UTF-8", "Save it as UTF-8.") from None
    except OSError as error:
        raise file_error(source, f"the file cannot be read: {quote(error)}", "Check its permissions.") from None
