"""Every error has a status."""

from __future__ import annotations

import pytest

from recollect import errors
from recollect.http.errors import status_of

CLASSES = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.RecollectError)]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_class_has_a_status_and_a_code(kind: type[errors.RecollectError]) -> None:
    assert 400 <= status_of(kind) <= 599
    assert kind.code.replace("_", "").isalpha()
    assert kind.__doc__


def test_the_tree_in_the_docstring_names_every_class() -> None:
    assert errors.__doc__ is not None
    assert [kind.__name__ for kind in CLASSES if kind.__name__ not in errors.__doc__] == []
