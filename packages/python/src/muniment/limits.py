"""Limits of calls, as the service states them, and what fits into them: for programs that hand on what others wrote, such
as the adapters. A test compares them with the service's own and with the TypeScript client's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from ._wire import encoded

T = TypeVar("T")

#: Characters of a query.
QUERY_LENGTH_MAX = 2_000
#: Characters of a message.
MESSAGE_LENGTH_MAX = 32_000
MESSAGES_PER_REQUEST_MAX = 200
MEMORIES_PER_REQUEST_MAX = 100
IDS_PER_REQUEST_MAX = 100
#: Bytes of a body.
REQUEST_BYTES_MAX = 1_048_576

#: Room in a body for what stands around the memories or messages.
_AROUND_BYTES = 16_384


def query_of(text: str) -> str | None:
    """The text as a query: cut to the length that is searched for; None where nothing is left to search for."""
    query = text[:QUERY_LENGTH_MAX]
    return query if query.strip() else None


def message_parts(text: str) -> list[str]:
    """The text in parts of at most the length of a message."""
    return [text[at : at + MESSAGE_LENGTH_MAX] for at in range(0, len(text), MESSAGE_LENGTH_MAX)]


def requests_of(
    values: Iterable[T],
    count_max: int = MEMORIES_PER_REQUEST_MAX,
    *,
    sent_as: Callable[[T], Any] = lambda value: value,
) -> Iterator[list[T]]:
    """Values in requests of at most `count_max` values and of the bytes that a body may have."""
    request: list[T] = []
    size = 0
    for value in values:
        more = len(json.dumps(encoded(sent_as(value)), ensure_ascii=False).encode(errors="surrogatepass")) + 2
        if request and (len(request) == count_max or size + more > REQUEST_BYTES_MAX - _AROUND_BYTES):
            yield request
            request, size = [], 0
        request.append(value)
        size += more
    if request:
        yield request
