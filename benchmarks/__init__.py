"""Measurements of Recollect beside its peers and beside what the machine can do; nothing here is installed."""
