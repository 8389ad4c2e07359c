"""Public."""
