"""Memory of LangChain over the service: a chat history, whose messages come back as they were added, and a retriever,
which finds memories of every kind by meaning and by words. A history is a thread of its agent and subject, and owns all
memories in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from .. import Muniment
from ..answers import FoundMemory
from ..inputs import Scope
from ..limits import query_of
from ._items import ITEM_FIELDS, KIND, Thread, words_of

ROLES = {"human": "user", "ai": "assistant", "system": "system"}


class MunimentChatMessageHistory(BaseChatMessageHistory):
    """History of one conversation, such as for `RunnableWithMessageHistory(chain, MunimentChatMessageHistory)`."""

    def __init__(
        self,
        session_id: str,
        client: Muniment | None = None,
        *,
        agent_id: str = "assistant",
        subject_id: str | None = None,
    ) -> None:
        self.session_id = session_id
        self.client = client or Muniment()
        self.agent_id = agent_id
        self.subject_id = subject_id

    @property
    def messages(self) -> list[BaseMessage]:
        """All messages, oldest first; what is assigned replaces them."""
        return messages_from_dict(self._thread().items())

    @messages.setter
    def messages(self, messages: Sequence[BaseMessage]) -> None:
        self.clear()
        self.add_messages(messages)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        self._thread().add((message_to_dict(message), _said(message)) for message in messages)

    def clear(self) -> None:
        """Erases all memories of the thread."""
        self._thread().clear()

    def _thread(self) -> Thread:
        return Thread(self.client, self.agent_id, self.subject_id, self.session_id)


class MunimentRetriever(BaseRetriever):
    """The `k` memories that answer a query best, of all that the key may read and the other fields let through."""

    client: Muniment = Field(default_factory=Muniment, exclude=True, repr=False)
    k: int = 4
    agent_id: str | None = None
    subject_id: str | None = None
    thread_id: str | None = None
    kind: str | None = None
    memory_tags: list[str] | None = None
    scope: Scope | None = None
    min_relevance: float | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        asked = query_of(query)
        if asked is None:
            return []
        found = self.client.search(
            query=asked,
            agent_id=self.agent_id,
            subject_id=self.subject_id,
            thread_id=self.thread_id,
            kind=self.kind,
            tags=self.memory_tags,
            scope=self.scope,
            min_relevance=self.min_relevance,
            limit=self.k if k is None else k,
        )
        return [_document_of(memory) for memory in found.memories]


def _said(message: BaseMessage) -> tuple[str, str] | None:
    """Who says what; None in messages of tools and others that are nobody's words."""
    role = ROLES.get(message.type)
    return None if role is None else (role, message.text)


def _document_of(memory: FoundMemory) -> Document:
    data, is_item = memory.data, memory.kind in ("conversation_message", KIND)
    return Document(
        id=memory.id,
        page_content=words_of(data),
        metadata={
            "kind": memory.kind,
            "relevance": memory.quality.relevance,
            "source": memory.source,
            "when": memory.context.when,
            "tags": list(memory.context.tags),
            "data": {name: value for name, value in data.items() if not is_item or name not in ITEM_FIELDS},
        },
    )
