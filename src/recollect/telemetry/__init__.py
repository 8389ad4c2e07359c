"""Meters: what is counted, given to those who operate the service."""
