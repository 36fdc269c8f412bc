"""A session of the OpenAI Agents SDK over the service: the items of a run are kept in their order, exactly as given.
What users and assistants say is a `conversation_message` and found by every search; calls of tools and other items are
of the kind `agent_item`. A session is a thread of its agent and subject, and owns all memories in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from agents import SessionABC, SessionSettings, TResponseInputItem

from .. import AsyncMuniment, ConflictError, InvalidRequestError, NewMemory, NotFoundError
from ..answers import Memory
from ..inputs import Filters
from ..limits import MEMORIES_PER_REQUEST_MAX, requests_of
from ._items import DESCRIPTION, KIND, SCHEMA, memories_of


class MunimentSession(SessionABC):
    """History of one conversation, for `Runner.run(agent, ..., session=MunimentSession("thread-1"))`."""

    def __init__(
        self,
        session_id: str,
        client: AsyncMuniment | None = None,
        *,
        agent_id: str = "assistant",
        subject_id: str | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.client = client or AsyncMuniment()
        self.agent_id = agent_id
        self.subject_id = subject_id
        self.session_settings = session_settings or SessionSettings()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """All items, or the last `limit`, oldest first."""
        wanted = self.session_settings.limit if limit is None and self.session_settings else limit
        newest_first: list[TResponseInputItem] = []
        later: list[str] = []
        if wanted is not None and wanted <= 0:
            return []
        async for memory in self.client.list_all(
            agent_id=self.agent_id, subject_id=self.subject_id, thread_id=self.session_id, limit=MEMORIES_PER_REQUEST_MAX
        ):
            if "item" not in memory.data:
                continue
            later.insert(0, memory.data["item"])
            if memory.data.get("part", 0) == 0:
                newest_first.append(_item_of(later))
                later = []
                if wanted is not None and len(newest_first) >= wanted:
                    break
        return newest_first[::-1]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        said = ((item, _said(cast("Mapping[str, Any]", item))) for item in items)
        for memories in requests_of(memory for item, words in said for memory in memories_of(item, words)):
            try:
                await self._add(memories)
            except InvalidRequestError as error:
                if error.code != "unknown_kind":
                    raise
                await self._register_kind()
                await self._add(memories)

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes the newest item away; of two callers at once only one gets it."""
        while (newest := await self._newest()) is not None:
            parts = [memory.data["item"] for memory in newest]
            try:
                await self.client.delete(newest[0].id)
            except NotFoundError:
                continue  # taken by another caller
            if len(newest) > 1:
                await self.client.batch_delete(ids=[memory.id for memory in newest[1:]])
            return _item_of(parts)
        return None

    async def clear_session(self) -> None:
        """Erases all memories of the thread."""
        await self.client.batch_delete(
            filters=Filters(agent_id=self.agent_id, subject_id=self.subject_id, thread_id=self.session_id)
        )

    async def _add(self, memories: list[NewMemory]) -> None:
        await self.client.create(
            agent_id=self.agent_id, subject_id=self.subject_id, thread_id=self.session_id, memories=memories
        )

    async def _newest(self) -> list[Memory] | None:
        """The memories of the newest item, in their order."""
        found: list[Memory] = []
        async for memory in self.client.list_all(
            agent_id=self.agent_id, subject_id=self.subject_id, thread_id=self.session_id, limit=1
        ):
            if "item" not in memory.data:
                continue
            found.insert(0, memory)
            if memory.data.get("part", 0) == 0:
                return found
        return None

    async def _register_kind(self) -> None:
        try:
            await self.client.register(name=KIND, description=DESCRIPTION, schema=SCHEMA)
        except ConflictError as error:
            if error.code != "schema_exists":
                raise


def _said(item: Mapping[str, Any]) -> tuple[str, str] | None:
    """Who says what in an item; None in those that are no message of words."""
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system"):
        return None
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        content = "\n".join(text for text in texts if isinstance(text, str))
    return (role, content) if isinstance(content, str) else None


def _item_of(parts: list[str]) -> TResponseInputItem:
    return cast("TResponseInputItem", json.loads("".join(parts)))
