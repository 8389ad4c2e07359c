"""Answer without a model: give back what the user said before, and say that this is all it can do."""

from __future__ import annotations

from recollect.ports.responder import Question, Reply

SHOWN = 3


class OfflineResponder:
    """Quote what was recalled; honest about being no language model."""

    name = "offline"

    async def reply(self, question: Question) -> Reply:
        """Return the best passages, or say that there are none."""
        if not question.recalled:
            return Reply(
                text="I am the built-in responder without a language model. I keep what you tell me, "
                "and I found nothing earlier that is about this."
            )
        lines = [f"- “{hit.message.content}” ({hit.message.created_at:%d %B %Y})" for hit in question.recalled[:SHOWN]]
        said = "\n".join(lines)
        return Reply(text=f"I am the built-in responder without a language model. Earlier you told me:\n\n{said}")
