"""Meters and traces: what is counted and how long it took, given to those who operate the service."""
