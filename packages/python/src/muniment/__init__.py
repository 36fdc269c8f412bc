"""Client of Muniment, self-hosted long-term memory for software agents.

`Muniment` waits for each answer, `AsyncMuniment` is awaited; both have the same methods. Memories that go in are
`NewMemory` and `Message` (or plain dictionaries with the wire's names), answers are frozen dataclasses.
"""

from ._client import AsyncMuniment, Muniment
from .answers import Answer, Created, FoundMemories, FoundMemory, Memory, MemoryEntry, TopicMap
from .errors import (
    AuthenticationError,
    ConflictError,
    ConnectionFailedError,
    InvalidRequestError,
    MunimentError,
    NotFoundError,
    PayloadTooLargeError,
    PaymentPendingError,
    PaymentRequiredError,
    PermissionDeniedError,
    RateLimitedError,
    ServiceError,
)
from .inputs import Message, NewMemory, SearchQuery
from .payment import Payment

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "AsyncMuniment",
    "AuthenticationError",
    "ConflictError",
    "ConnectionFailedError",
    "Created",
    "FoundMemories",
    "FoundMemory",
    "InvalidRequestError",
    "Memory",
    "MemoryEntry",
    "Message",
    "Muniment",
    "MunimentError",
    "NewMemory",
    "NotFoundError",
    "PayloadTooLargeError",
    "Payment",
    "PaymentPendingError",
    "PaymentRequiredError",
    "PermissionDeniedError",
    "RateLimitedError",
    "SearchQuery",
    "ServiceError",
    "TopicMap",
]
