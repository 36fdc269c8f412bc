"""What calls take beside plain values: memories, messages, queries. Instead of each of them a dictionary with the
wire's names (`expiresAt`) may be given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, Protocol, Union

#: A moment: ISO 8601 with its offset, or a `datetime`, which without a zone is local.
Moment = Union[str, datetime]
#: A day or a moment.
Day = Union[str, date]

Include = Literal["messages", "extracted", "all"]
Scope = Literal["own", "shared", "all"]
Recall = Literal["fast", "strict"]
Rerank = Literal["model"]


@dataclass(frozen=True)
class NewMemory:
    """A memory to be stored: its kind, and the data that the kind's schema asks for.

    `id` replaces the record of that id, only of kinds without `unique_on`; its older data is not kept. `ttl` is a life
    such as `30d`, `expires_at` its end: milliseconds since the epoch, or a `datetime`.
    """

    kind: str
    data: Mapping[str, Any]
    id: str | None = None
    ttl: str | None = None
    tags: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = None
    expires_at: float | datetime | None = None


class SdkModel(Protocol):
    """A message as an object of a model API's SDK, such as `ChatCompletionMessage`."""

    def model_dump(self, *, mode: str, exclude_none: bool) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Message:
    """A message of a conversation.

    `content` is a text, or parts as model APIs have them, and `tool_calls` calls of tools as OpenAI has them. By its
    `id` a message that is sent again is known. `name` is who wrote it, as questions name them. `sent_at` is when: ISO
    8601 with its offset, a `datetime` (local without a zone), or seconds or milliseconds since the epoch; the day of
    the conversation by default.
    """

    role: Literal["user", "human", "assistant", "ai", "model", "system", "developer", "tool", "function"]
    content: str | Sequence[Mapping[str, Any] | str] | None
    id: str | None = None
    name: str | None = None
    sent_at: str | float | datetime | None = None
    tool_calls: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class Filters:
    agent_id: str | None = None
    subject_id: str | None = None
    thread_id: str | None = None
    kind: str | None = None
    tags: Sequence[str] | None = None
    #: Conditions on data and metadata.
    where: Mapping[str, Any] | None = None


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
    #: Turns around each message that was found, so many on each side.
    context: int | None = None
