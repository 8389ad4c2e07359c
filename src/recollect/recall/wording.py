"""Say how a message is worded for an embedder.

Who speaks is part of what is said: a question that names a person finds their words far better so.
A change here changes what vectors mean: raise `WORDING`, which belongs to the model that is stored with them.
"""

from __future__ import annotations

from typing import Final

from recollect.domain.message import Message, NewMessage

#: The version of the wording.
WORDING: Final = "said-1"


def speaker(message: Message | NewMessage) -> str:
    """Return who speaks: the name, or the role where there is none."""
    return message.name or message.role


def worded(message: Message | NewMessage) -> str:
    """Return the text whose vector stands for the message."""
    return f'{speaker(message)} said, "{message.content}"'
