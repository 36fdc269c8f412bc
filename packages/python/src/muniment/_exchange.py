"""One HTTP call without its input and output: what is sent, when it is sent again, how the answer is read. `exchange`
yields what to do and is given the outcome, so that the client that waits and the one that is awaited share it.

Invariant: a call is repeated only if that is safe: reads, and writes that carry an `Idempotency-Key`, whose first
answer the service gives again. The key stays the same over retries, and so does a payment. A wallet signs every
attempt, since a signature is valid for two minutes only.
"""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, Union
from urllib.parse import urlencode, urlsplit

from ._wire import decoded
from .errors import BY_STATUS, ConnectionFailedError, ErrorDetail, MunimentError, ServiceError
from .grants import GrantsInput, grants_header
from .payment import Payment, PaymentDemand, demand_of
from .wallet import Wallet, wallet_headers

T = TypeVar("T")

RETRIES_DEFAULT = 2
PATIENCE_DEFAULT = 120.0
TIMEOUT_DEFAULT = 30.0
_PAUSE_MIN = 0.2
_PAUSE_MAX = 30.0
#: Beyond what the service asks for.
_SPREAD_MAX = 10.0
#: The last two are a proxy's.
RETRIED_STATUSES = frozenset({408, 429, 503, 502, 504})
#: Servers and proxies refuse longer request lines, many from 8 KiB on.
_QUERY_TEXT_MAX = 2_048
_PENDING_STATUS = 202
#: Repeats while a payment is not confirmed; the service waits up to 10 s in each of them.
_PENDING_REPEATS_MAX = 30


@dataclass(frozen=True)
class Call(Generic[T]):
    method: str
    #: Below the version prefix, already encoded.
    path: str
    read: Callable[[Mapping[str, Any], Mapping[str, str]], T]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    #: False for calls that change nothing.
    is_write: bool = False
    #: At the origin, outside the version prefix, and without credentials.
    is_public: bool = False
    idempotency_key: str | None = None
    if_match: str | None = None
    grants: GrantsInput | None = None


@dataclass(frozen=True)
class Settings:
    base_url: str
    api_key: str | None
    wallet: Wallet | None
    audience: str | None
    retries: int
    #: Seconds that a call waits in all for a service that says when to come back.
    patience: float
    payment: Payment | None
    #: Of the key file.
    service_name: str

    @property
    def origin(self) -> str:
        trimmed = self.base_url.rstrip("/")
        return trimmed[: -len("/v1")].rstrip("/") if trimmed.endswith("/v1") else trimmed


@dataclass(frozen=True)
class Send:
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Pay:
    demand: PaymentDemand


@dataclass(frozen=True)
class Reply:
    status: int
    #: By lower-case name.
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class NoReply:
    is_timeout: bool


Outcome = Union[Reply, NoReply, Payment, None]
Exchange = Generator[Union[Send, Pause, Pay], Outcome, T]


def result(kind: type[T]) -> Callable[[Mapping[str, Any], Mapping[str, str]], T]:
    return lambda body, _headers: decoded(kind, body)


def exchange(call: Call[T], settings: Settings, *, can_pay: bool) -> Exchange[T]:
    """`Send` wants a `Reply` or `NoReply`, `Pay` a `Payment`, `Pause` nothing."""
    key = call.idempotency_key or (str(uuid.uuid4()) if call.is_write and settings.retries > 0 else None)
    retries = 0 if call.is_write and key is None else settings.retries
    headers, body, path = _prepared(call, key)
    payment, patience = settings.payment, settings.patience
    failures = pendings = refusals = 0
    while True:
        try:
            reply = yield _attempt(call, settings, headers, body, path, payment)
            return call.read(*read(reply, settings, payment))
        except MunimentError as error:
            demand = error.payment_required
            if demand is not None and demand.accepts and payment is None and can_pay:
                signed = yield Pay(demand)
                if not isinstance(signed, Payment):
                    raise TypeError("on_payment_required must return a Payment") from error
                payment = signed
                continue
            if error.code == "invalid_response" and error.status == 0:
                raise
            # A pending payment is no failure: the request was not served, so repeating it is always right.
            is_pending = error.status == _PENDING_STATUS
            if not is_pending and (retries == 0 or error.status not in {0, *RETRIED_STATUSES}):
                raise
            is_refusal = not is_pending and error.retry_after is not None
            attempt = pendings if is_pending else refusals if is_refusal else failures
            seconds = pause_seconds(attempt, error.retry_after)
            if is_pending:
                pendings += 1
                is_over = attempt >= _PENDING_REPEATS_MAX
            elif is_refusal:
                # No failure: nothing was done.
                refusals, patience = refusals + 1, patience - seconds
                is_over = patience < 0
            else:
                failures += 1
                is_over = attempt >= retries
            if is_over:
                raise
        yield Pause(seconds)


def _prepared(call: Call[Any], key: str | None) -> tuple[dict[str, str], bytes | None, str]:
    headers = {"accept": "application/json"}
    body = None
    if call.body is not None:
        headers["content-type"] = "application/json"
        body = json.dumps(call.body, ensure_ascii=False, allow_nan=False).encode()
    if key is not None:
        headers["idempotency-key"] = key
    if call.if_match is not None:
        headers["if-match"] = f'"{call.if_match}"'
    if call.grants is not None:
        headers["x-grants"] = grants_header(call.grants)
    query = _encoded(call.query)
    return headers, body, f"{call.path}?{query}" if query else call.path


def asked(
    path: str,
    read: Callable[[Mapping[str, Any], Mapping[str, str]], T],
    parameters: Mapping[str, Any],
    grants: GrantsInput | None,
) -> Call[T]:
    """A read with these parameters, in the URL if they are short, else in a body."""
    if len(_encoded(parameters)) <= _QUERY_TEXT_MAX:
        return Call("GET", path, read, query=parameters, grants=grants)
    return Call("POST", path, read, body=parameters, grants=grants)


def _encoded(query: Mapping[str, Any]) -> str:
    return urlencode({name: _query_text(value) for name, value in query.items()})


def _query_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(value)
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _attempt(
    call: Call[Any],
    settings: Settings,
    headers: Mapping[str, str],
    body: bytes | None,
    path: str,
    payment: Payment | None,
) -> Send:
    prefix = "" if call.is_public else "/v1"
    credentials: Mapping[str, str] = {}
    if not call.is_public and settings.wallet is not None:
        credentials = wallet_headers(
            settings.wallet,
            method=call.method,
            path=prefix + path,
            body=body or b"",
            timestamp_millis=time.time_ns() // 1_000_000,
            audience=_origin_of(settings.audience or settings.origin),
            headers=headers,
        )
    elif not call.is_public:
        credentials = {"authorization": f"Bearer {settings.api_key}"}
    paid: dict[str, str] = {} if payment is None else {payment.header: payment.value}
    return Send(call.method, f"{settings.origin}{prefix}{path}", {**headers, **credentials, **paid}, body)


def request_of(call: Call[Any], settings: Settings, more: Mapping[str, str]) -> Send:
    """One attempt of a read, with these headers beside its own."""
    headers, body, path = _prepared(call, None)
    return _attempt(call, settings, {**headers, **more}, body, path, settings.payment)


def _origin_of(url: str) -> str:
    """`scheme://host[:port]`, without the port that the scheme implies."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    is_implied = parts.port in (None, {"http": 80, "https": 443}.get(parts.scheme))
    return f"{parts.scheme}://{host}" + ("" if is_implied else f":{parts.port}")


def read(
    reply: Outcome, settings: Settings, payment: Payment | None
) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    if isinstance(reply, NoReply):
        what = "gave no answer in time" if reply.is_timeout else "could not be reached"
        code = "timeout" if reply.is_timeout else "network_error"
        raise ConnectionFailedError(f"the service at {settings.origin} {what}", code=code, payment=payment)
    if not isinstance(reply, Reply):
        raise TypeError("a request that was sent has an outcome")
    body = _object_of(reply.body)
    if 200 <= reply.status < 300 and reply.status != _PENDING_STATUS and body is not None:
        return body, reply.headers
    fields = body or {}
    raise BY_STATUS.get(reply.status, ServiceError)(
        _text_of(fields.get("error")) or f"the service answered {reply.status}",
        status=reply.status,
        code=_text_of(fields.get("code")) or "invalid_response",
        details=_details_of(fields.get("details")),
        retry_after=_retry_after(reply.headers),
        payment_required=demand_of(reply.status, reply.headers, fields),
        payment=payment,
    )


def _object_of(body: bytes) -> dict[str, Any] | None:
    """None when it is something else, as a proxy's error page is: the caller gets `invalid_response`."""
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _text_of(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _details_of(value: Any) -> tuple[ErrorDetail, ...]:
    items = value if isinstance(value, list) else []
    return tuple(decoded(ErrorDetail, item) for item in items if isinstance(item, dict) and "message" in item)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("retry-after", "").strip()
    return float(text) if text.isascii() and text.isdigit() else None


def pause_seconds(attempt: int, asked: float | None) -> float:
    """Doubling from 200 ms, spread over its upper half so that clients do not return in step. Where the service asks
    for a time, that and a spread which doubles with it: all that are refused at one moment are asked for the same.
    """
    share = random.random()
    if asked is None:
        return float(min(_PAUSE_MIN * 2**attempt * (0.5 + share / 2), _PAUSE_MAX))
    return float(asked + share * min(max(asked, _PAUSE_MIN) * 2**attempt, _SPREAD_MAX))
