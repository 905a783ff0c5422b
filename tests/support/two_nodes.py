"""Two nodes with a cable between them, as network namespaces of this computer. They exist only inside the block."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

NETWORK = "10.203.77"  # only inside the two namespaces


@dataclass(frozen=True, slots=True)
class Node:
    """A network of its own with one address."""

    name: str
    address: str

    def command(self, words: Sequence[str]) -> list[str]:
        """A command that runs on this node; its process is the one that is started."""
        return ["ip", "netns", "exec", self.name, *words]


@contextmanager
def two_nodes() -> Iterator[tuple[Node, Node]]:
    """Skips the test where this is not permitted."""
    nodes = tuple(Node(f"deconfound-{os.getpid()}-{at}", f"{NETWORK}.{at}") for at in (1, 2))
    try:
        for node in nodes:
            _ip("netns", "add", node.name)
        ends = [f"dc{os.getpid()}-{at}" for at in (1, 2)]
        peer = ["peer", "name", ends[1], "netns", nodes[1].name]
        _ip("link", "add", ends[0], "netns", nodes[0].name, "type", "veth", *peer)
        for node, end in zip(nodes, ends, strict=True):
            _ip("-n", node.name, "addr", "add", f"{node.address}/24", "dev", end)
            for device in ("lo", end):
                _ip("-n", node.name, "link", "set", device, "up")
        yield nodes[0], nodes[1]
    except (OSError, subprocess.CalledProcessError) as error:
        what = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) else error
        pytest.skip(f"no network namespaces can be made here: {what}")
    finally:
        for node in nodes:  # the cable goes with them
            subprocess.run(["ip", "netns", "delete", node.name], capture_output=True, check=False)  # noqa: S607


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], capture_output=True, text=True, check=True)  # noqa: S607
