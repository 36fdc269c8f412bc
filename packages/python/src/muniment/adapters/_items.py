"""Items of conversations as memories of a thread, for the adapters that keep a history. An item is kept as JSON. What
users and assistants say is a `conversation_message` and found by every search; all else is of the kind `agent_item`. A
long item is several memories, one after the other in the thread.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import ConflictError, InvalidRequestError, Muniment, NewMemory
from ..answers import Memory
from ..inputs import Filters
from ..limits import MEMORIES_PER_REQUEST_MAX, requests_of

KIND = "agent_item"
DESCRIPTION = "An item of an agent's run that is no message, as JSON."
ITEM_FIELDS = ("item", "part", "parts")
SCHEMA = json.dumps(
    {
        # No tool writes it.
        "x-tool": False,
        "type": "object",
        "properties": {"item": {"type": "string"}, "part": {"type": "integer"}, "parts": {"type": "integer"}},
        "required": ["item"],
    }
)

#: Characters of an item, as JSON in ASCII, and of its words in one memory: escaped again, both fit into its data.
PART_LENGTH = 24_000
TEXT_LENGTH = 5_000


def memories_of(item: Any, said: tuple[str, str] | None) -> Iterator[NewMemory]:
    """The words of `said` (role, text) are in the first of an item's memories."""
    text = json.dumps(item)
    parts = [text[at : at + PART_LENGTH] for at in range(0, len(text), PART_LENGTH)]
    for part, piece in enumerate(parts):
        numbers = {} if len(parts) == 1 else {"part": part, "parts": len(parts)}
        if part == 0 and said is not None and said[1].strip() != "":
            role, words = said[0], said[1][:TEXT_LENGTH].encode(errors="replace").decode()
            yield NewMemory("conversation_message", {"role": role, "text": words, "item": piece, **numbers})
        else:
            yield NewMemory(KIND, {"item": piece, **numbers})


def items_of(memories: Iterable[Memory]) -> Iterator[Any]:
    """Of memories, oldest first; without memories that are no items."""
    parts: list[str] = []
    for memory in memories:
        if "item" not in memory.data:
            continue
        if memory.data.get("part", 0) == 0:
            parts = []
        parts.append(memory.data["item"])
        if len(parts) == memory.data.get("parts", 1):
            yield json.loads("".join(parts))


def words_of(data: Mapping[str, Any]) -> str:
    """Of a memory's data the message, the fact or the event; of other kinds all of it as JSON."""
    words = next((data[name] for name in ("text", "fact", "event") if isinstance(data.get(name), str)), None)
    return json.dumps(data, ensure_ascii=False) if words is None else str(words)


@dataclass(frozen=True)
class Thread:
    """Holds the items of one conversation of an agent and subject, for adapters whose framework waits for each call.
    It owns all memories in it.
    """

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
