"""Keys that come from the environment and are never printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

#: The variables that hold a provider's key by its own convention.
KEY_VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")


class Secret:
    """A text that prints as stars; `reveal` is the only way to it.

    >>> Secret("sk-1234")
    Secret(***)
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text, to be sent and not to be kept."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere")


def keys_in(environ: Mapping[str, str], *named: str | None) -> dict[str, Secret]:
    """Return the keys by their variables: those of the known providers and those that the settings name."""
    variables = dict.fromkeys((*KEY_VARIABLES, *filter(None, named)))
    found = {variable: environ.get(variable, "").strip() for variable in variables}
    return {variable: Secret(text) for variable, text in found.items() if text}
