"""What calls take beside plain values: memories, messages, queries. Instead of each of them a dictionary with the
wire's names (`expiresAt`) may be given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Include = Literal["messages", "extracted", "all"]
Scope = Literal["own", "shared", "all"]
Recall = Literal["fast", "strict"]


@dataclass(frozen=True)
class NewMemory:
    kind: str
    data: Mapping[str, Any]
    #: Only for kinds without `unique_on`: update this record.
    id: str | None = None
    #: Such as `30d`.
    ttl: str | None = None
    #: Milliseconds since the epoch.
    expires_at: float | None = None


@dataclass(frozen=True)
class Message:
    role: Literal["user", "assistant", "system", "human", "ai"]
    content: str
    id: str | None = None
    #: Who wrote it, as questions name them.
    name: str | None = None
    #: ISO 8601; the day of the conversation by default.
    sent_at: str | None = None


@dataclass(frozen=True)
class Filters:
    agent_id: str | None = None
    subject_id: str | None = None
    thread_id: str | None = None
    kind: str | None = None
    tags: Sequence[str] | None = None


@dataclass(frozen=True)
class SearchFilters(Filters):
    include_superseded: bool | None = None
    include: Include | None = None


@dataclass(frozen=True)
class SearchQuery:
    """One query of `batch_search`."""

    query: str
    filters: SearchFilters | Mapping[str, Any] | None = None
    limit: int | None = None
