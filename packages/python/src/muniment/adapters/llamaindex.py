"""Memory of LlamaIndex over the service. `MunimentMemory` (`BaseMemory`) keeps the messages of a session exactly as they
were put, and recalls what other sessions of its agent and subject know; `MunimentMemoryBlock` does so for messages that
LlamaIndex's own `Memory` puts out of its short-term memory. A session is a thread, and owns all memories in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemory, BaseMemoryBlock
from pydantic import ConfigDict, Field

from .. import Muniment
from ._items import Thread

ROLES = {
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
    MessageRole.SYSTEM: "system",
    MessageRole.DEVELOPER: "system",
}
TURNS_MAX = 50
TURN_LENGTH_MAX = 8_000


class MunimentMemory(BaseMemory):
    """For `agent.run(..., memory=MunimentMemory(session_id="thread-1"))` and for chat engines."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Muniment = Field(default_factory=Muniment, exclude=True, repr=False)
    session_id: str
    agent_id: str = "assistant"
    subject_id: str | None = None
    #: Tokens of the context before the messages, at most; 0 for none.
    context_tokens: int = 1_500
    #: The newest messages that `get` gives, at most; they begin with one of the user.
    messages_max: int = 100

    @classmethod
    def class_name(cls) -> str:
        return "MunimentMemory"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> MunimentMemory:
        return cls(**kwargs)

    def get(self, input: str | ChatMessage | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The newest messages, and before them what other sessions know about `input`, or about the user's last words."""
        messages = self.get_all()
        recent = _newest(messages, self.messages_max)
        asked = [] if input is None else [ChatMessage(input) if isinstance(input, str) else input]
        known = _context(self.client, [*recent, *asked], self.agent_id, self.subject_id, self.context_tokens)
        return recent if known == "" else [ChatMessage(role=MessageRole.SYSTEM, content=known), *recent]

    def get_all(self) -> list[ChatMessage]:
        """All messages of the session, oldest first."""
        return [ChatMessage.model_validate(item) for item in self._thread().items()]

    def put(self, message: ChatMessage) -> None:
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        self._thread().add(_items(messages))

    def set(self, messages: list[ChatMessage]) -> None:
        """Replaces the messages of the session."""
        self.reset()
        self.put_messages(messages)

    def reset(self) -> None:
        """Erases all memories of the session."""
        self._thread().clear()

    def _thread(self) -> Thread:
        return Thread(self.client, self.agent_id, self.subject_id, self.session_id)


class MunimentMemoryBlock(BaseMemoryBlock[str]):
    """For `Memory.from_defaults(session_id="thread-1", memory_blocks=[MunimentMemoryBlock()])`."""

    name: str = "Remembered"
    client: Muniment = Field(default_factory=Muniment, exclude=True, repr=False)
    agent_id: str = "assistant"
    subject_id: str | None = None
    #: Tokens of the block, at most.
    context_tokens: int = 1_500

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked = messages or []
        return await asyncio.to_thread(
            _context, self.client, asked, self.agent_id, self.subject_id, self.context_tokens
        )

    async def _aput(self, messages: list[ChatMessage]) -> None:
        sessions: dict[str, list[ChatMessage]] = {}
        for message in messages:
            session = str(message.additional_kwargs.get("session_id", self.name))
            sessions.setdefault(session, []).append(message)
        for session, put in sessions.items():
            thread = Thread(self.client, self.agent_id, self.subject_id, session)
            await asyncio.to_thread(thread.add, list(_items(put)))


def _items(messages: Sequence[ChatMessage]) -> list[tuple[Any, tuple[str, str] | None]]:
    return [(message.model_dump(mode="json"), _said(message)) for message in messages]


def _said(message: ChatMessage) -> tuple[str, str] | None:
    """Who says what; None in messages of tools, and in those without words."""
    role = ROLES.get(message.role)
    return None if role is None or message.content is None else (role, message.content)


def _newest(messages: list[ChatMessage], count: int) -> list[ChatMessage]:
    """Answers of tools without their call, which a cut could leave at the beginning, are refused by models."""
    if len(messages) <= count:
        return messages
    cut = messages[len(messages) - count :]
    first = next((at for at, message in enumerate(cut) if message.role == MessageRole.USER), 0)
    return cut[first:]


def _context(
    client: Muniment, messages: Sequence[ChatMessage], agent_id: str, subject_id: str | None, tokens: int
) -> str:
    """What is known that bears on the user's last words, without what the messages say themselves."""
    said = [
        {"role": ROLES[message.role], "content": message.content[:TURN_LENGTH_MAX]}
        for message in messages[-TURNS_MAX:]
        if message.role in ROLES and message.content
    ]
    if tokens == 0 or all(turn["role"] != "user" for turn in said):
        return ""
    return client.context(messages=said, agent_id=agent_id, subject_id=subject_id, max_tokens=tokens).text
