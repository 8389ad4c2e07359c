"""Keeping a conversation short: what to summarise next, and how without a model."""
