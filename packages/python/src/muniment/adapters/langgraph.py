"""A store of LangGraph (`BaseStore`) over the service: an item is a memory of the kind `langgraph_item`, its namespace
the memory's subject (labels joined by dots) and its key the memory's thread. A put supersedes the item's memory in one
step on the server, a delete takes all its versions along.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import itertools
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Protocol

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from .. import ConflictError, InvalidRequestError, Muniment, NewMemory, NotFoundError, SearchQuery
from ..inputs import Filters, SearchFilters
from ..limits import query_of

KIND = "langgraph_item"
SCHEMA = {
    # No tool writes it.
    "x-tool": False,
    "type": "object",
    "properties": {
        "key": {"type": "string"},
        "value": {"type": "object"},
        "indexed": {"type": "boolean"},
        "ttl": {"type": "number"},
    },
    "required": ["key", "value"],
}

IDENTIFIER_LENGTH_MAX = 128
HITS_MAX = 100
QUERIES_MAX = 10
FACET_VALUES_MAX = 1_000


class _Stored(Protocol):
    """What memories and hits have in common."""

    @property
    def id(self) -> str: ...
    @property
    def data(self) -> Mapping[str, Any]: ...
    @property
    def metadata(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class _Hit:
    memory: _Stored
    namespace: tuple[str, ...]
    score: float | None


class MunimentStore(BaseStore):
    """Long-term memory of LangGraph agents, kept by a Muniment service.

    A search with a `query` finds by meaning and by words, without an embedding model of your own. `agent_id` separates
    stores. `ttl` is in minutes, as everywhere in LangGraph; an item that expires is gone at once.
    """

    supports_ttl = True

    def __init__(
        self, client: Muniment | None = None, *, agent_id: str = "langgraph", ttl: TTLConfig | None = None
    ) -> None:
        self.client = client or Muniment()
        self.agent_id = agent_id
        self.ttl_config = ttl
        self._has_kind = False

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads see what was there before the puts of the same batch; of several puts of a key the last one counts."""
        ops = [*ops]
        for op in ops:
            _check_labels(op)
        results: list[Result] = []
        puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
        for op in ops:
            if isinstance(op, PutOp):
                puts[(op.namespace, op.key)] = op
                results.append(None)
            elif isinstance(op, GetOp):
                results.append(self._get(op))
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            else:
                results.append(self._list_namespaces(op))
        for put in puts.values():
            self._put(put)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _get(self, op: GetOp) -> Item | None:
        try:
            subject = _subject_of(op.namespace)
            found = self.client.lookup(agent_id=self.agent_id, subject_id=subject, kind=KIND, key={"key": op.key})
        except NotFoundError:
            return None
        except InvalidRequestError as error:
            if error.code == "unknown_kind":
                return None
            raise
        if op.refresh_ttl:
            self._refresh([found.memory])
        return Item(**_fields(found.memory, op.namespace))

    def _put(self, op: PutOp) -> None:
        subject, thread = _subject_of(op.namespace), _thread_of(op.key)
        # What is over when it is put leaves nothing behind, not the version before it either.
        if op.value is None or (op.ttl is not None and op.ttl <= 0):
            item = Filters(agent_id=self.agent_id, subject_id=subject, thread_id=thread, kind=KIND)
            self.client.batch_delete(filters=item)
            return
        self._register_kind()
        data: dict[str, Any] = {"key": op.key, "value": op.value}
        if op.index is False:
            data["indexed"] = False
        if op.ttl is not None:
            data["ttl"] = op.ttl
        # An earlier version would be the latest again once the newest has expired.
        earlier = [] if op.ttl is None else self._versions(subject, thread)
        self.client.create(
            agent_id=self.agent_id,
            subject_id=subject,
            thread_id=thread,
            memories=[NewMemory(KIND, data, expires_at=_expiry(op.ttl))],
            wait=None if op.index is False else "vectors",
        )
        for at in range(0, len(earlier), HITS_MAX):
            self.client.batch_delete(ids=earlier[at : at + HITS_MAX])

    def _versions(self, subject: str, thread: str) -> list[str]:
        versions = self.client.list_all(
            agent_id=self.agent_id, subject_id=subject, thread_id=thread, kind=KIND, include_superseded=True
        )
        return [version.id for version in versions]

    def _search(self, op: SearchOp) -> list[SearchItem]:
        query = None if op.query is None else query_of(op.query)
        found = self._by_query(op, query) if query else self._newest(op.namespace_prefix)
        passing = (hit for hit in found if op.filter is None or _passes(hit.memory.data["value"], op.filter))
        page = list(itertools.islice(passing, op.offset, op.offset + op.limit))
        if op.refresh_ttl:
            self._refresh([hit.memory for hit in page])
        return [SearchItem(**_fields(hit.memory, hit.namespace), score=hit.score) for hit in page]

    def _newest(self, prefix: tuple[str, ...]) -> Iterator[_Hit]:
        """Everything below a prefix, page after page, newest first."""
        if not prefix:
            return self._listed(None)
        lists = (self._listed(_subject_of(namespace)) for namespace in self._namespaces(prefix))
        return heapq.merge(*lists, key=lambda hit: -int(hit.memory.metadata["createdAt"]))

    def _listed(self, subject: str | None) -> Iterator[_Hit]:
        for memory in self.client.list_all(agent_id=self.agent_id, subject_id=subject, kind=KIND, limit=HITS_MAX):
            yield _Hit(memory, _namespace_of(memory.metadata["subjectId"]), None)

    def _by_query(self, op: SearchOp, query: str) -> Iterator[_Hit]:
        """The best hits below a prefix; the service looks at as many as one of its pages holds in each namespace."""
        limit = HITS_MAX if op.filter else min(HITS_MAX, op.offset + op.limit)
        asked: list[tuple[str, ...] | None] = [None]
        if op.namespace_prefix:
            asked = [*self._namespaces(op.namespace_prefix)]
        hits: list[_Hit] = []
        for at in range(0, len(asked), QUERIES_MAX):
            part = asked[at : at + QUERIES_MAX]
            subjects = [None if namespace is None else _subject_of(namespace) for namespace in part]
            queries = [
                SearchQuery(query, SearchFilters(agent_id=self.agent_id, subject_id=subject, kind=KIND), limit)
                for subject in subjects
            ]
            for result in self.client.batch_search(queries=queries, scope="own").results:
                for memory in result.memories:
                    namespace = _namespace_of(memory.metadata["subjectId"])
                    hits.append(_Hit(memory, namespace, memory.quality.relevance))
        hits.sort(key=lambda hit: -(hit.score or 0))
        return (hit for hit in hits if hit.memory.data.get("indexed", True))

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        found = {
            namespace[: op.max_depth]
            for namespace in self._namespaces(())
            if all(_holds(condition, namespace) for condition in conditions)
        }
        return sorted(found)[op.offset : op.offset + op.limit]

    def _namespaces(self, prefix: tuple[str, ...]) -> list[tuple[str, ...]]:
        """That have an item, below a prefix; in order."""
        prefix = tuple(prefix)
        wanted = ".".join(prefix)
        listed = self.client.facets(
            facet="subjects",
            agent_id=self.agent_id,
            kind=KIND,
            contains=wanted or None,
            order="name",
            limit=FACET_VALUES_MAX,
        )
        subjects = {value.value for value in listed.values}
        if not listed.is_exact or listed.total > len(listed.values):
            subjects = {str(hit.memory.metadata["subjectId"]) for hit in self._listed(None)}
        namespaces = sorted(_namespace_of(subject) for subject in subjects)
        return [namespace for namespace in namespaces if namespace[: len(prefix)] == prefix]

    def _refresh(self, memories: Iterable[_Stored]) -> None:
        for memory in memories:
            ttl = memory.data.get("ttl")
            if ttl is not None:
                try:
                    self.client.update(memory.id, expires_at=_expiry(ttl))
                except NotFoundError:
                    continue  # expired, deleted or superseded since it was read

    def _register_kind(self) -> None:
        if self._has_kind:
            return
        try:
            self.client.register(
                name=KIND,
                description="An item of a LangGraph store: its key and its value.",
                schema=json.dumps(SCHEMA),
                unique_on=["key"],
            )
        except ConflictError as error:
            if error.code != "schema_exists":
                raise
        self._has_kind = True


def _check_labels(op: Op) -> None:
    """Joined by dots, `("foo.bar",)` would be `("foo", "bar")`. The methods of `BaseStore` look at this, `batch` does not."""
    if isinstance(op, ListNamespacesOp):
        paths = [condition.path for condition in op.match_conditions or ()]
    elif isinstance(op, SearchOp):
        paths = [op.namespace_prefix]
    elif isinstance(op, (GetOp, PutOp)):
        paths = [op.namespace]
    else:
        raise ValueError(f"unknown operation {type(op)}")
    for path in paths:
        for label in path:
            if not isinstance(label, str) or label == "" or "." in label or "\0" in label:
                raise InvalidNamespaceError(f"a label is a text that is not empty, without periods and NUL: {path}")


def _subject_of(namespace: tuple[str, ...]) -> str:
    subject = ".".join(namespace)
    if len(subject) > IDENTIFIER_LENGTH_MAX:
        raise InvalidNamespaceError(f"a namespace has at most {IDENTIFIER_LENGTH_MAX} characters in all: {namespace}")
    return subject


def _namespace_of(subject: str) -> tuple[str, ...]:
    return tuple(subject.split("."))


def _thread_of(key: str) -> str:
    return key if 0 < len(key) <= IDENTIFIER_LENGTH_MAX else f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"


def _expiry(ttl: float | None) -> float | None:
    """`ttl` in minutes; milliseconds since the epoch."""
    return None if ttl is None else int(time.time() * 1_000 + ttl * 60_000)


def _fields(memory: _Stored, namespace: tuple[str, ...]) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "key": memory.data["key"],
        "value": memory.data["value"],
        "created_at": _time(memory.metadata["createdAt"]),
        "updated_at": _time(memory.metadata["updatedAt"]),
    }


def _time(millis: float) -> datetime:
    return datetime.fromtimestamp(millis / 1_000, timezone.utc)


def _holds(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part))


def _passes(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """A name that the value does not have may be a path: `user.city`."""
    return all(_matches(value[name] if name in value else _at(value, name), part) for name, part in wanted.items())


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _matches(value: Any, wanted: Any) -> bool:
    """As LangGraph's other stores compare: operators, objects by the fields that are named, lists by every item."""
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compares(value, operator, operand) for operator, operand in wanted.items())
        return isinstance(value, Mapping) and all(_matches(value.get(name), part) for name, part in wanted.items())
    if isinstance(wanted, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(wanted)
            and all(_matches(one, other) for one, other in zip(value, wanted))
        )
    return bool(value == wanted)


def _compares(value: Any, operator: str, operand: Any) -> bool:
    if operator == "$eq":
        return bool(value == operand)
    if operator == "$ne":
        return bool(value != operand)
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise ValueError(f"unsupported operator {operator}")
    if value is None:
        return False
    left, right = float(value), float(operand)
    if operator == "$gt":
        return left > right
    if operator == "$gte":
        return left >= right
    return left < right if operator == "$lt" else left <= right
