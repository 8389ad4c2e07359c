"""Run every benchmark, so that `make bench` needs to know no file of this folder."""

from benchmarks import conversation, memory, server, store
from benchmarks.harness import run

if __name__ == "__main__":
    run("Recollect beside its peers.", store.BENCHMARK, conversation.BENCHMARK, memory.BENCHMARK, server.BENCHMARK)
