"""The two clients: `Muniment` waits for each answer, `AsyncMuniment` is awaited. Their methods are the functions of
`_calls`, with the answer in place of the call.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, ParamSpec, Protocol, TypedDict, TypeVar, cast, overload

import httpx

from . import _calls as calls
from ._exchange import (
    PATIENCE_DEFAULT,
    RETRIES_DEFAULT,
    TIMEOUT_DEFAULT,
    Call,
    NoReply,
    Outcome,
    Pay,
    Reply,
    Send,
    Settings,
    exchange,
)
from ._following import EventsFrom, Following
from ._parameters import documented
from .answers import Event, Memory, MemoryPage, PublishedKeys
from .errors import MunimentError
from .payment import Payment, PaymentDemand
from .wallet import Wallet

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")

#: What a header can carry.
_KEY = re.compile(r"[!-~]+")
_URL = re.compile(r"https?://[^\s/?#]+[^\s]*$", re.IGNORECASE)

URL_DEFAULT = "http://127.0.0.1:8787"


class _Method(Protocol[P, T]):
    """As what a type checker sees a method of `Muniment` that makes a call and returns its answer."""

    @overload
    def __get__(self, client: None, owner: type[Muniment]) -> _Method[P, T]: ...
    @overload
    def __get__(self, client: Muniment, owner: type[Muniment]) -> Callable[P, T]: ...
    def __get__(self, client: Muniment | None, owner: type[Muniment]) -> _Method[P, T] | Callable[P, T]: ...
    def __call__(self, client: Muniment, /, *args: P.args, **kwargs: P.kwargs) -> T: ...


class _AsyncMethod(Protocol[P, T]):
    """The same of `AsyncMuniment`."""

    @overload
    def __get__(self, client: None, owner: type[AsyncMuniment]) -> _AsyncMethod[P, T]: ...
    @overload
    def __get__(self, client: AsyncMuniment, owner: type[AsyncMuniment]) -> Callable[P, Awaitable[T]]: ...
    def __get__(
        self, client: AsyncMuniment | None, owner: type[AsyncMuniment]
    ) -> _AsyncMethod[P, T] | Callable[P, Awaitable[T]]: ...
    def __call__(self, client: AsyncMuniment, /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]: ...


class _Pages(Protocol[P]):
    def __get__(self, client: Muniment, owner: type[Muniment]) -> Callable[P, Iterator[Memory]]: ...


class _AsyncPages(Protocol[P]):
    def __get__(self, client: AsyncMuniment, owner: type[AsyncMuniment]) -> Callable[P, AsyncIterator[Memory]]: ...


def _method(build: Callable[P, Call[T]]) -> _Method[P, T]:
    def method(self: Muniment, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._send(build(*args, **kwargs))

    return cast(_Method[P, T], _as(build, method, "{}"))


def _async_method(build: Callable[P, Call[T]]) -> _AsyncMethod[P, T]:
    async def method(self: AsyncMuniment, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._send(build(*args, **kwargs))

    return cast(_AsyncMethod[P, T], _as(build, method, "{}"))


def _pages(build: Callable[P, Call[MemoryPage]]) -> _Pages[P]:
    """Every memory, page after page."""

    def method(self: Muniment, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[Memory]:
        call: Call[MemoryPage] | None = build(*args, **kwargs)
        while call is not None:
            page = self._send(call)
            yield from page.memories
            call = _next_page(call, page)

    return cast(_Pages[P], _as(build, method, "Iterator[Memory]"))


def _async_pages(build: Callable[P, Call[MemoryPage]]) -> _AsyncPages[P]:
    async def method(self: AsyncMuniment, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[Memory]:
        call: Call[MemoryPage] | None = build(*args, **kwargs)
        while call is not None:
            page = await self._send(call)
            for memory in page.memories:
                yield memory
            call = _next_page(call, page)

    return cast(_AsyncPages[P], _as(build, method, "AsyncIterator[Memory]"))


def _as(build: Callable[..., Any], method: Callable[..., Any], answer: str) -> Callable[..., Any]:
    """A method with the name, the arguments and the text of the function that makes its call."""
    functools.update_wrapper(method, build)
    shape = inspect.signature(build)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    answered = answer.format(str(shape.return_annotation).removeprefix("Call[").removesuffix("]"))
    method.__signature__ = shape.replace(  # type: ignore[attr-defined]
        parameters=[own, *shape.parameters.values()], return_annotation=answered
    )
    method.__annotations__ = {**build.__annotations__, "return": answered}
    method.__doc__ = documented(build)
    return method


def _named(client: type[C]) -> type[C]:
    """Methods by the names that they have here."""
    for name, method in vars(client).items():
        if inspect.isfunction(method):
            method.__name__, method.__qualname__ = name, f"{client.__name__}.{name}"
    return client


def _next_page(call: Call[MemoryPage], page: MemoryPage) -> Call[MemoryPage] | None:
    return None if page.next_cursor is None else replace(call, query={**call.query, "cursor": page.next_cursor})


def _settings(
    base_url: str | None,
    api_key: str | None,
    wallet: Wallet | None,
    audience: str | None,
    retries: int,
    patience: float,
    service_name: str,
) -> Settings:
    if wallet is None:
        name = "MUNIMENT_API_KEY" if api_key is None else "api_key"
        api_key = os.environ.get("MUNIMENT_API_KEY") if api_key is None else api_key
        if api_key is None:
            raise ValueError("give api_key or wallet, or set MUNIMENT_API_KEY")
        if not _KEY.fullmatch(api_key):
            raise ValueError(f"{name} is {'empty' if api_key == '' else 'no key: it has a blank or a line end'}")
    elif api_key is not None:
        raise ValueError("give api_key or wallet, not both")
    name = "MUNIMENT_URL" if base_url is None else "base_url"
    url = os.environ.get("MUNIMENT_URL", URL_DEFAULT) if base_url is None else base_url
    if not _URL.match(url):
        raise ValueError(f"{name} must begin with http:// or https:// and name a host: {url!r}")
    return Settings(url, api_key, wallet, audience, retries, patience, None, service_name)


#: Of a stream, which says something several times a minute while nothing happens.
_STREAM_TIMEOUT = 90.0
_OK = 200


def _timeout(seconds: float) -> httpx.Timeout:
    """Who waits for one of the connections is not waiting for the service."""
    return httpx.Timeout(seconds, pool=None)


@_named
class Muniment:
    """Client that waits for each answer. May be used from several threads.

    `base_url` and `api_key` are taken from `MUNIMENT_URL` and `MUNIMENT_API_KEY` where they are not given. `timeout`
    is the seconds without progress after which an attempt fails, `retries` the attempts after a failure (0: no
    repeats, and no generated `Idempotency-Key`), `patience` the seconds that a call waits in all for a service that
    says when to come back. `audience` is the service's public URL where `base_url` is another.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        wallet: Wallet | None = None,
        audience: str | None = None,
        timeout: float = TIMEOUT_DEFAULT,
        retries: int = RETRIES_DEFAULT,
        patience: float = PATIENCE_DEFAULT,
        on_payment_required: Callable[[PaymentDemand], Payment] | None = None,
        service_name: str = "muniment",
        http_client: httpx.Client | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings = _settings(base_url, api_key, wallet, audience, retries, patience, service_name)
        self._http = http_client or httpx.Client(timeout=_timeout(timeout))
        self._pay = on_payment_required
        self._sleep = sleep
        #: Of calls through `with_options`; else the http client's own.
        self._timeout: float | None = None
        self._public_keys: PublishedKeys | None = None

    add = _method(calls.add)
    create = _method(calls.create)
    list = _method(calls.list_memories)
    list_all = _pages(calls.list_memories)
    facets = _method(calls.facets)
    context = _method(calls.context)
    chat = _method(calls.chat)
    subjects = _method(calls.subjects)
    profile = _method(calls.profile)
    search = _method(calls.search)
    answer = _method(calls.answer)
    topics = _method(calls.topics)
    extract = _method(calls.extract)
    lookup = _method(calls.lookup)
    history = _method(calls.history)
    restore = _method(calls.restore)
    feedback = _method(calls.feedback)
    get = _method(calls.get)
    update = _method(calls.update)
    delete = _method(calls.delete)
    forget = _method(calls.forget)
    batch_search = _method(calls.batch_search)
    batch_delete = _method(calls.batch_delete)
    batch_update = _method(calls.batch_update)
    batch_create = _method(calls.batch_create)
    events = _method(calls.events)
    register = _method(calls.register)
    try_schema = _method(calls.try_schema)
    list_schemas = _method(calls.list_schemas)
    get_schema = _method(calls.get_schema)
    update_schema = _method(calls.update_schema)
    delete_schema = _method(calls.delete_schema)
    attest = _method(calls.attest)
    revoke_grant = _method(calls.revoke_grant)
    deposit = _method(calls.deposit)
    credits = _method(calls.credits)
    receipt = _method(calls.receipt)
    transactions = _method(calls.transactions)
    statement = _method(calls.statement)
    costs = _method(calls.costs)
    requests = _method(calls.requests)
    whoami = _method(calls.whoami)
    list_keys = _method(calls.list_keys)
    create_key = _method(calls.create_key)
    revoke_key = _method(calls.revoke_key)
    list_hooks = _method(calls.list_hooks)
    create_hook = _method(calls.create_hook)
    get_hook = _method(calls.get_hook)
    change_hook = _method(calls.change_hook)
    remove_hook = _method(calls.remove_hook)
    rotate_hook_secret = _method(calls.rotate_hook_secret)
    test_hook = _method(calls.test_hook)
    hook_deliveries = _method(calls.hook_deliveries)
    repeat_deliveries = _method(calls.repeat_deliveries)

    def public_keys(self, *, refresh: bool = False) -> PublishedKeys:
        """Keys that attestations of the service verify with; fetched once, and again with `refresh`."""
        if self._public_keys is None or refresh:
            self._public_keys = self._send(calls.public_keys(self._settings.service_name))
        return self._public_keys

    def with_options(
        self,
        *,
        payment: Payment | None = None,
        retries: int | None = None,
        timeout: float | None = None,
        on_payment_required: Callable[[PaymentDemand], Payment] | None = None,
    ) -> Muniment:
        """A client over the same connections, for one call or several: `client.with_options(timeout=5).search(...)`. With
        `payment`, as an error carries it, a call goes on with it. `timeout`: seconds without progress."""
        client = object.__new__(type(self))
        client.__dict__.update(self.__dict__)
        client._settings = _changed(self._settings, payment, retries)
        client._timeout = self._timeout if timeout is None else timeout
        client._pay = on_payment_required or self._pay
        return client

    def follow_events(
        self, *, agent_id: str | None = None, cursor: str | None = None, from_: EventsFrom | None = None
    ) -> Iterator[Event]:
        """What happens to memories, as it happens, until the caller stops: each change once and in order by agent, also
        when the connection breaks or the service starts anew: from now on, with `from_="oldest"` from the first one that
        is kept. Keep the `id` of the last event that you have dealt with, and begin with it as `cursor` the next time."""
        follow = Following(self._settings, agent_id, cursor, from_)
        while True:
            try:
                with self._http.stream(**_request(follow.request(), _STREAM_TIMEOUT)) as response:
                    if response.status_code != _OK:
                        response.read()
                        follow.refuse(_reply(response))
                    for line in response.iter_lines():
                        yield from follow.read(line)
                self._sleep(follow.pause(None))
            except (httpx.RequestError, MunimentError) as error:
                self._sleep(follow.pause(error if isinstance(error, MunimentError) else None))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Muniment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, call: Call[T]) -> T:
        steps = exchange(call, self._settings, can_pay=self._pay is not None)
        outcome: Outcome = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                answer: T = end.value
                return answer
            if isinstance(step, Send):
                try:
                    outcome = _reply(self._http.request(**_request(step, self._timeout)))
                except httpx.RequestError as error:
                    outcome = _no_reply(error)
            elif isinstance(step, Pay):
                outcome = None if self._pay is None else self._pay(step.demand)
            else:
                self._sleep(step.seconds)
                outcome = None


@_named
class AsyncMuniment:
    """Client that is awaited; its arguments are those of `Muniment`. `on_payment_required` may be awaited too."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        wallet: Wallet | None = None,
        audience: str | None = None,
        timeout: float = TIMEOUT_DEFAULT,
        retries: int = RETRIES_DEFAULT,
        patience: float = PATIENCE_DEFAULT,
        on_payment_required: Callable[[PaymentDemand], Payment | Awaitable[Payment]] | None = None,
        service_name: str = "muniment",
        http_client: httpx.AsyncClient | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._settings = _settings(base_url, api_key, wallet, audience, retries, patience, service_name)
        self._http = http_client or httpx.AsyncClient(timeout=_timeout(timeout))
        self._pay = on_payment_required
        self._sleep = sleep
        #: Of calls through `with_options`; else the http client's own.
        self._timeout: float | None = None
        self._public_keys: PublishedKeys | None = None

    add = _async_method(calls.add)
    create = _async_method(calls.create)
    list = _async_method(calls.list_memories)
    list_all = _async_pages(calls.list_memories)
    facets = _async_method(calls.facets)
    context = _async_method(calls.context)
    chat = _async_method(calls.chat)
    subjects = _async_method(calls.subjects)
    profile = _async_method(calls.profile)
    search = _async_method(calls.search)
    answer = _async_method(calls.answer)
    topics = _async_method(calls.topics)
    extract = _async_method(calls.extract)
    lookup = _async_method(calls.lookup)
    history = _async_method(calls.history)
    restore = _async_method(calls.restore)
    feedback = _async_method(calls.feedback)
    get = _async_method(calls.get)
    update = _async_method(calls.update)
    delete = _async_method(calls.delete)
    forget = _async_method(calls.forget)
    batch_search = _async_method(calls.batch_search)
    batch_delete = _async_method(calls.batch_delete)
    batch_update = _async_method(calls.batch_update)
    batch_create = _async_method(calls.batch_create)
    events = _async_method(calls.events)
    register = _async_method(calls.register)
    try_schema = _async_method(calls.try_schema)
    list_schemas = _async_method(calls.list_schemas)
    get_schema = _async_method(calls.get_schema)
    update_schema = _async_method(calls.update_schema)
    delete_schema = _async_method(calls.delete_schema)
    attest = _async_method(calls.attest)
    revoke_grant = _async_method(calls.revoke_grant)
    deposit = _async_method(calls.deposit)
    credits = _async_method(calls.credits)
    receipt = _async_method(calls.receipt)
    transactions = _async_method(calls.transactions)
    statement = _async_method(calls.statement)
    costs = _async_method(calls.costs)
    requests = _async_method(calls.requests)
    whoami = _async_method(calls.whoami)
    list_keys = _async_method(calls.list_keys)
    create_key = _async_method(calls.create_key)
    revoke_key = _async_method(calls.revoke_key)
    list_hooks = _async_method(calls.list_hooks)
    create_hook = _async_method(calls.create_hook)
    get_hook = _async_method(calls.get_hook)
    change_hook = _async_method(calls.change_hook)
    remove_hook = _async_method(calls.remove_hook)
    rotate_hook_secret = _async_method(calls.rotate_hook_secret)
    test_hook = _async_method(calls.test_hook)
    hook_deliveries = _async_method(calls.hook_deliveries)
    repeat_deliveries = _async_method(calls.repeat_deliveries)

    async def public_keys(self, *, refresh: bool = False) -> PublishedKeys:
        """Keys that attestations of the service verify with; fetched once, and again with `refresh`."""
        if self._public_keys is None or refresh:
            self._public_keys = await self._send(calls.public_keys(self._settings.service_name))
        return self._public_keys

    def with_options(
        self,
        *,
        payment: Payment | None = None,
        retries: int | None = None,
        timeout: float | None = None,
        on_payment_required: Callable[[PaymentDemand], Payment | Awaitable[Payment]] | None = None,
    ) -> AsyncMuniment:
        """As of `Muniment`."""
        client = object.__new__(type(self))
        client.__dict__.update(self.__dict__)
        client._settings = _changed(self._settings, payment, retries)
        client._timeout = self._timeout if timeout is None else timeout
        client._pay = on_payment_required or self._pay
        return client

    async def follow_events(
        self, *, agent_id: str | None = None, cursor: str | None = None, from_: EventsFrom | None = None
    ) -> AsyncIterator[Event]:
        """As of `Muniment`."""
        follow = Following(self._settings, agent_id, cursor, from_)
        while True:
            try:
                async with self._http.stream(**_request(follow.request(), _STREAM_TIMEOUT)) as response:
                    if response.status_code != _OK:
                        await response.aread()
                        follow.refuse(_reply(response))
                    async for line in response.aiter_lines():
                        for event in follow.read(line):
                            yield event
                await self._sleep(follow.pause(None))
            except (httpx.RequestError, MunimentError) as error:
                await self._sleep(follow.pause(error if isinstance(error, MunimentError) else None))

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncMuniment:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, call: Call[T]) -> T:
        steps = exchange(call, self._settings, can_pay=self._pay is not None)
        outcome: Outcome = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                answer: T = end.value
                return answer
            if isinstance(step, Send):
                try:
                    outcome = _reply(await self._http.request(**_request(step, self._timeout)))
                except httpx.RequestError as error:
                    outcome = _no_reply(error)
            elif isinstance(step, Pay):
                paid = None if self._pay is None else self._pay(step.demand)
                outcome = await paid if inspect.isawaitable(paid) else paid
            else:
                await self._sleep(step.seconds)
                outcome = None


class _Request(TypedDict):
    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    follow_redirects: bool
    timeout: httpx.Timeout | httpx._client.UseClientDefault


def _request(step: Send, timeout: float | None) -> _Request:
    # A redirect would carry credentials, and a signature for another path.
    return {
        "method": step.method,
        "url": step.url,
        "headers": step.headers,
        "content": step.body,
        "follow_redirects": False,
        "timeout": httpx.USE_CLIENT_DEFAULT if timeout is None else _timeout(timeout),
    }


def _reply(response: httpx.Response) -> Reply:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, headers, response.content)


def _no_reply(error: httpx.RequestError) -> NoReply:
    return NoReply(is_timeout=isinstance(error, httpx.TimeoutException))


def _changed(settings: Settings, payment: Payment | None, retries: int | None) -> Settings:
    return replace(
        settings,
        payment=payment or settings.payment,
        retries=settings.retries if retries is None else retries,
    )
