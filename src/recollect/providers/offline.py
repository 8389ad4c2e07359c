"""Answer without a model: give back what the user said before, and say that this is all it can do."""

from __future__ import annotations

from recollect.domain.message import Message
from recollect.ports.chat_model import TextDelta
from recollect.ports.responder import Hear, Question, Reply

#: Memories and passages that are given back.
SHOWN = 3
_I_AM = "I am the built-in responder without a language model."


class OfflineResponder:
    """Give back what is known and what was said; honest about being no language model."""

    name = "offline"

    async def reply(self, question: Question, hear: Hear) -> Reply:
        """Say what is known and the best passages, or that there is nothing."""
        known = [one.memory for one in question.recalled if one.memory is not None][:SHOWN]
        said = [one.message for one in question.recalled if one.message is not None and one.message.role == "user"]
        said = said[:SHOWN]
        hear(TextDelta(_I_AM))
        if not known and not said:
            hear(TextDelta(" I keep what you tell me, and I found nothing earlier that is about this."))
        if known:
            lines = "\n".join(f"- {memory.content}" for memory in known)
            hear(TextDelta(f"\n\nThis is what I know about it:\n\n{lines}"))
        if said:
            lines = "\n".join(map(_quoted, said))
            hear(TextDelta(f"\n\nEarlier it was said:\n\n{lines}"))
        return Reply(repeats=(*(memory.id for memory in known), *(message.id for message in said)))


def _quoted(message: Message) -> str:
    return f"- “{message.content}” ({message.created_at:%d %B %Y})"
