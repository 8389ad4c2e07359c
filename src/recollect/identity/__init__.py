"""Tokens that somebody else signs: who is believed, and with which keys."""
