"""A thread of an agent and subject that holds the items of one conversation, for adapters whose framework waits for each
call. The thread owns all memories in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .. import ConflictError, InvalidRequestError, Muniment, NewMemory
from ..inputs import Filters
from ..limits import MEMORIES_PER_REQUEST_MAX, requests_of
from ._items import DESCRIPTION, KIND, SCHEMA, items_of, memories_of


@dataclass(frozen=True)
class Thread:
    client: Muniment
    agent_id: str
    subject_id: str | None
    thread_id: str

    def items(self) -> list[Any]:
        """Oldest first."""
        stored = self.client.list_all(
            agent_id=self.agent_id,
            subject_id=self.subject_id,
            thread_id=self.thread_id,
            order="asc",
            limit=MEMORIES_PER_REQUEST_MAX,
        )
        return list(items_of(stored))

    def add(self, items: Iterable[tuple[Any, tuple[str, str] | None]]) -> None:
        """Of each item the item, which becomes JSON, and who says what in it."""
        for memories in requests_of(memory for item, said in items for memory in memories_of(item, said)):
            try:
                self._create(memories)
            except InvalidRequestError as error:
                if error.code != "unknown_kind":
                    raise
                self._register_kind()
                self._create(memories)

    def clear(self) -> None:
        """Erases all memories of the thread."""
        self.client.batch_delete(
            filters=Filters(agent_id=self.agent_id, subject_id=self.subject_id, thread_id=self.thread_id)
        )

    def _create(self, memories: list[NewMemory]) -> None:
        self.client.create(
            agent_id=self.agent_id, subject_id=self.subject_id, thread_id=self.thread_id, memories=memories
        )

    def _register_kind(self) -> None:
        try:
            self.client.register(name=KIND, description=DESCRIPTION, schema=SCHEMA)
        except ConflictError as error:
            if error.code != "schema_exists":
                raise
