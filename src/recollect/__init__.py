"""The memory of chat applications."""
