"""One file per use case; the only orchestration."""
