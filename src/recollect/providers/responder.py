"""Answer with a language model."""

from __future__ import annotations

from recollect.domain.message import Message
from recollect.domain.turn import Usage
from recollect.errors import ProviderOutputError
from recollect.ports.chat_model import ChatModel, ModelMessage, ModelRequest
from recollect.ports.responder import Question, Reply

_SYSTEM = "You are a helpful assistant with a long memory."


class ModelResponder:
    """Ask a model, with what is remembered as its context."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """Tell the name of the model."""
        return self._model.name

    async def reply(self, question: Question) -> Reply:
        """Return the model's answer; one that says nothing is an error."""
        window = [shown for message in question.window if (shown := _shown(message)) is not None]
        messages = (*window, ModelMessage(role="user", text=question.text))
        answer = await self._model.complete(ModelRequest(messages=messages, system=_system(question)))
        if not answer.text:
            raise ProviderOutputError(f"{self._model.name} answered with no text ({answer.reason})")
        return Reply(text=answer.text, usage=answer.usage or Usage())


def _system(question: Question) -> str:
    parts = [_SYSTEM]
    if question.summaries:
        parts.append("## Conversation Summary\n" + "\n\n".join(question.summaries))
    if question.recalled:
        said = "\n".join(f"- {hit.message.content}" for hit in question.recalled)
        parts.append(f"## Said Earlier by the User\n{said}")
    return "\n\n".join(parts)


def _shown(message: Message) -> ModelMessage | None:
    """Return the message as the model sees it; the result of a call that is not shown with it is told as text."""
    match message.role:
        case "user" | "system" if message.content:
            return ModelMessage(role="user", text=message.content)
        case "assistant" if message.content:
            return ModelMessage(role="assistant", text=message.content)
        case "tool" if message.content:
            return ModelMessage(role="user", text=f"[tool result] {message.content}")
    return None
