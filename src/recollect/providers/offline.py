"""Answer without a model: give back what the user said before, and say that this is all it can do."""

from __future__ import annotations

from recollect.domain.context import Recalled
from recollect.ports.responder import Question, Reply

#: Memories and passages that are given back.
SHOWN = 3
_I_AM = "I am the built-in responder without a language model."


class OfflineResponder:
    """Give back what is known and what was said; honest about being no language model."""

    name = "offline"

    async def reply(self, question: Question) -> Reply:
        """Return what is known and the best passages, or say that there is nothing."""
        known = [f"- {one.memory.content}" for one in question.recalled if one.memory is not None][:SHOWN]
        said = [line for one in question.recalled if (line := _said(one)) is not None][:SHOWN]
        if not known and not said:
            return Reply(
                text=f"{_I_AM} I keep what you tell me, and I found nothing earlier that is about this.", repeats=True
            )
        parts = [_I_AM]
        if known:
            parts.append("This is what I know about it:\n\n" + "\n".join(known))
        if said:
            parts.append("Earlier it was said:\n\n" + "\n".join(said))
        return Reply(text="\n\n".join(parts), repeats=True)


def _said(recalled: Recalled) -> str | None:
    message = recalled.message
    if message is None or message.role != "user":
        return None
    return f"- “{message.content}” ({message.created_at:%d %B %Y})"
