"""Memory of CrewAI over the service. `MunimentMemory` is its `Memory` with another storage and another search: a record
is a memory of the kind `crewai_record`, found by meaning and by words, without an embedding model of your own. Nothing
is inferred or merged by a language model when a record is stored.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, Literal, Protocol

from crewai.memory.storage.backend import StorageBackend
from crewai.memory.types import MemoryMatch, MemoryRecord, ScopeInfo, compute_composite_score
from crewai.memory.unified_memory import Memory
from crewai.memory.utils import join_scope_paths
from pydantic import Field

from .. import ConflictError, InvalidRequestError, Muniment, NewMemory, NotFoundError
from ..limits import QUERY_LENGTH_MAX, requests_of

KIND = "crewai_record"
DESCRIPTION = "A record of CrewAI's memory: its text, its scope with those above it, its categories."
SCHEMA = {
    # No tool writes it.
    "x-tool": False,
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "scope": {"type": "string"},
        "within": {"type": "array", "items": {"type": "string"}},
        "categories": {"type": "array", "items": {"type": "string"}},
        "importance": {"type": "number"},
        "metadata": {"type": "object"},
        "source": {"type": "string"},
        "private": {"type": "boolean"},
    },
    "required": ["text"],
}

HITS_MAX = 100
#: Fields of the data that are left out where they have CrewAI's default.
DEFAULTS: Mapping[str, Any] = {"categories": [], "importance": 0.5, "metadata": {}, "source": None, "private": False}


class _Stored(Protocol):
    """What memories and hits have in common."""

    @property
    def id(self) -> str: ...
    @property
    def data(self) -> Mapping[str, Any]: ...
    @property
    def metadata(self) -> Mapping[str, Any]: ...


class MunimentStorage(StorageBackend):
    """Records of one agent and subject. A stored record's id is that of its memory."""

    def __init__(
        self, client: Muniment | None = None, *, agent_id: str = "crewai", subject_id: str | None = None
    ) -> None:
        self.client = client or Muniment()
        self.agent_id = agent_id
        self.subject_id = subject_id

    def save(self, records: list[MemoryRecord]) -> None:
        for part in requests_of(records, sent_as=_memory_of):
            try:
                self._create(part)
            except InvalidRequestError as error:
                if error.code != "unknown_kind":
                    raise
                self._register_kind()
                self._create(part)

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        raise NotImplementedError("records are found by their text: MunimentMemory.recall")

    def find(self, query: str, scope: str | None, category: str | None, limit: int) -> list[tuple[MemoryRecord, float]]:
        """With their relevance, the most relevant first."""
        found = self.client.search(
            query=query[:QUERY_LENGTH_MAX],
            agent_id=self.agent_id,
            subject_id=self.subject_id,
            kind=KIND,
            data=_filter(scope, category),
            limit=min(HITS_MAX, limit),
            scope="own",
        )
        return [(_record_of(hit), hit.quality.relevance) for hit in found.memories]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Those that meet all conditions."""
        wanted = {} if metadata_filter is None else metadata_filter
        before = None if older_than is None else _comparable(older_than)
        ids = [
            record.id
            for record in self._records(scope_prefix)
            if (record_ids is None or record.id in record_ids)
            and (not categories or not set(categories).isdisjoint(record.categories))
            and (before is None or record.created_at < before)
            and all(record.metadata.get(name) == value for name, value in wanted.items())
        ]
        for at in range(0, len(ids), HITS_MAX):
            self.client.batch_delete(ids=ids[at : at + HITS_MAX])
        return len(ids)

    def update(self, record: MemoryRecord) -> None:
        self.client.update(record.id, data=_data_of(record))

    def get_record(self, record_id: str) -> MemoryRecord | None:
        try:
            memory = self.client.get(record_id).memory
        except NotFoundError:
            return None
        return _record_of(memory) if memory.kind == KIND else None

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        return list(itertools.islice(self._records(scope_prefix), offset, offset + limit))

    def get_scope_info(self, scope: str) -> ScopeInfo:
        records = list(self._records(scope))
        times = [record.created_at for record in records]
        return ScopeInfo(
            path=scope,
            record_count=len(records),
            categories=sorted({category for record in records for category in record.categories}),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=_children(scope, records),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        return _children(parent, self._records(parent))

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        return dict(Counter(category for record in self._records(scope_prefix) for category in record.categories))

    def count(self, scope_prefix: str | None = None) -> int:
        return sum(1 for _ in self._records(scope_prefix))

    def reset(self, scope_prefix: str | None = None) -> None:
        self.delete(scope_prefix)

    async def asave(self, records: list[MemoryRecord]) -> None:
        await asyncio.to_thread(self.save, records)

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        return self.search(query_embedding, scope_prefix, categories, metadata_filter, limit, min_score)

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        return await asyncio.to_thread(self.delete, scope_prefix, categories, record_ids, older_than, metadata_filter)

    def _records(self, scope: str | None) -> Iterator[MemoryRecord]:
        """Newest first, page after page."""
        stored = self.client.list_all(
            agent_id=self.agent_id, subject_id=self.subject_id, kind=KIND, data=_filter(scope), limit=HITS_MAX
        )
        return map(_record_of, stored)

    def _create(self, records: list[MemoryRecord]) -> None:
        stored = self.client.create(
            agent_id=self.agent_id,
            subject_id=self.subject_id,
            memories=[_memory_of(record) for record in records],
            on_duplicate="store",
            wait="vectors",
        )
        for record, memory in zip(records, stored.created):
            record.id = memory.id

    def _register_kind(self) -> None:
        try:
            self.client.register(name=KIND, description=DESCRIPTION, schema=json.dumps(SCHEMA))
        except ConflictError as error:
            if error.code != "schema_exists":
                raise


class MunimentMemory(Memory):
    """For `Crew(..., memory=MunimentMemory())`, for agents and flows, and alone.

    `llm` only takes memories out of what a task brought (`extract_memories`). Without a scope a record is stored at
    `root_scope` or `/`. `depth` of a recall makes no difference.
    """

    storage: Any = Field(default_factory=MunimentStorage, description="A MunimentStorage.")
    #: The service makes the vectors.
    embedder: Any = Field(default=lambda texts: [])

    def _encode_batch(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        records = [
            MemoryRecord(
                content=content,
                scope=join_scope_paths(root_scope, scope),
                categories=categories or [],
                metadata=metadata or {},
                importance=self.default_importance if importance is None else importance,
                source=source,
                private=private,
            )
            for content in contents
        ]
        self._storage.save(records)
        return records

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """By the score that CrewAI makes of relevance, age and importance."""
        self.drain_writes()
        if query.strip() == "":
            return []
        effective = scope if self.root_scope is None else join_scope_paths(self.root_scope, scope)
        asked: list[str | None] = [*categories] if categories else [None]
        found = {
            record.id: (record, relevance)
            for category in asked
            for record, relevance in self.storage.find(query, effective, category, 2 * limit)
        }
        matches = []
        for record, relevance in found.values():
            if include_private or not record.private or record.source == source:
                score, reasons = compute_composite_score(record, relevance, self._config)
                matches.append(MemoryMatch(record=record, score=score, match_reasons=reasons))
        return sorted(matches, key=lambda match: -match.score)[:limit]


def _memory_of(record: MemoryRecord) -> NewMemory:
    return NewMemory(KIND, _data_of(record))


def _data_of(record: MemoryRecord) -> dict[str, Any]:
    fields = record.model_dump(mode="json", include=set(DEFAULTS))
    given = {name: value for name, value in fields.items() if value != DEFAULTS[name]}
    above = _ancestors(record.scope)
    return {"text": record.content, **({"scope": above[-1], "within": above} if above else {}), **given}


def _record_of(memory: _Stored) -> MemoryRecord:
    data = memory.data
    given = {name: data[name] for name in DEFAULTS if name in data}
    return MemoryRecord(
        id=memory.id,
        content=data["text"],
        scope=data.get("scope", "/"),
        created_at=_time(memory.metadata["createdAt"]),
        last_accessed=_time(memory.metadata["updatedAt"]),
        **given,
    )


def _ancestors(scope: str) -> list[str]:
    """`/a/b` is in `/a` and in `/a/b`; the root is not named."""
    labels = [label for label in scope.split("/") if label]
    return ["/" + "/".join(labels[: at + 1]) for at in range(len(labels))]


def _filter(scope: str | None, category: str | None = None) -> dict[str, Any] | None:
    above = _ancestors(scope or "")
    return {**({"within": above[-1]} if above else {}), **({} if category is None else {"categories": category})} or None


def _children(parent: str, records: Iterable[MemoryRecord]) -> list[str]:
    depth = len(_ancestors(parent))
    above = (_ancestors(record.scope) for record in records)
    return sorted({scopes[depth] for scopes in above if len(scopes) > depth})


def _time(millis: float) -> datetime:
    """As CrewAI has times: UTC, without saying so."""
    return datetime.fromtimestamp(millis / 1_000, timezone.utc).replace(tzinfo=None)


def _comparable(time: datetime) -> datetime:
    return time if time.tzinfo is None else time.astimezone(timezone.utc).replace(tzinfo=None)
