"""What we need from outside: one Protocol per file, its contract in its docstrings."""
