from __future__ import annotations

from recollect.testing.store import archive, branches, conversations, erasure, extraction, jobs, memories, messages, notes, requests, summaries, turns

for module in (archive, branches, conversations, erasure, extraction, jobs, memories, messages, notes, requests, summaries, turns):
    for name, value in vars(module).items():
        if name.endswith("Conformance"):
            globals()["Test" + name] = type("Test" + name, (value,), {})
