"""Answer with a language model."""

from __future__ import annotations

from recollect.domain.context import PromptMessage
from recollect.domain.tool_pairs import in_words
from recollect.domain.turn import Usage
from recollect.errors import ProviderOutputError
from recollect.ports.chat_model import ChatModel, ModelMessage, ModelRequest
from recollect.ports.responder import Question, Reply


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
        messages = tuple(_shown(message) for message in question.context.messages)
        answer = await self._model.complete(ModelRequest(messages=messages, system=question.context.prompt))
        if not answer.text:
            raise ProviderOutputError(f"{self._model.name} answered with no text ({answer.reason})")
        return Reply(text=answer.text, usage=answer.usage or Usage())


def _shown(message: PromptMessage) -> ModelMessage:
    """Return a message of the prompt for a model that is offered no tools; some refuse calls and results then."""
    words = in_words(message)
    return ModelMessage(role=words.role, text=words.text)
