"""The two clients: `Muniment` waits for each answer, `AsyncMuniment` is awaited. Their methods are the functions of
`_calls`, with the answer in place of the call.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Generic, ParamSpec, TypedDict, TypeVar, overload

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
from .answers import Memory, MemoryPage, PublishedKeys
from .payment import Payment, PaymentDemand
from .wallet import Wallet

P = ParamSpec("P")
T = TypeVar("T")

URL_DEFAULT = "http://127.0.0.1:8787"


class _Method(Generic[P, T]):
    """A method of `Muniment` that makes the call of `build` and returns its answer."""

    def __init__(self, build: Callable[P, Call[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, client: None, owner: type[Muniment]) -> _Method[P, T]: ...
    @overload
    def __get__(self, client: Muniment, owner: type[Muniment]) -> Callable[P, T]: ...
    def __get__(self, client: Muniment | None, owner: type[Muniment]) -> _Method[P, T] | Callable[P, T]:
        if client is None:
            return self

        @functools.wraps(self._build)
        def method(*args: P.args, **kwargs: P.kwargs) -> T:
            return client._send(self._build(*args, **kwargs))

        return method


class _AsyncMethod(Generic[P, T]):
    """The same of `AsyncMuniment`."""

    def __init__(self, build: Callable[P, Call[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, client: None, owner: type[AsyncMuniment]) -> _AsyncMethod[P, T]: ...
    @overload
    def __get__(self, client: AsyncMuniment, owner: type[AsyncMuniment]) -> Callable[P, Awaitable[T]]: ...
    def __get__(
        self, client: AsyncMuniment | None, owner: type[AsyncMuniment]
    ) -> _AsyncMethod[P, T] | Callable[P, Awaitable[T]]:
        if client is None:
            return self

        @functools.wraps(self._build)
        async def method(*args: P.args, **kwargs: P.kwargs) -> T:
            return await client._send(self._build(*args, **kwargs))

        return method


class _Pages(Generic[P]):
    """Every memory, page after page."""

    def __init__(self, build: Callable[P, Call[MemoryPage]]) -> None:
        self._build = build

    def __get__(self, client: Muniment, owner: type[Muniment]) -> Callable[P, Iterator[Memory]]:
        def method(*args: P.args, **kwargs: P.kwargs) -> Iterator[Memory]:
            call: Call[MemoryPage] | None = self._build(*args, **kwargs)
            while call is not None:
                page = client._send(call)
                yield from page.memories
                call = _next_page(call, page)

        return method


class _AsyncPages(Generic[P]):
    def __init__(self, build: Callable[P, Call[MemoryPage]]) -> None:
        self._build = build

    def __get__(self, client: AsyncMuniment, owner: type[AsyncMuniment]) -> Callable[P, AsyncIterator[Memory]]:
        async def method(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[Memory]:
            call: Call[MemoryPage] | None = self._build(*args, **kwargs)
            while call is not None:
                page = await client._send(call)
                for memory in page.memories:
                    yield memory
                call = _next_page(call, page)

        return method


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
        api_key = api_key or os.environ.get("MUNIMENT_API_KEY")
        if api_key is None:
            raise ValueError("give api_key or wallet, or set MUNIMENT_API_KEY")
    elif api_key is not None:
        raise ValueError("give api_key or wallet, not both")
    url = base_url or os.environ.get("MUNIMENT_URL") or URL_DEFAULT
    return Settings(url, api_key, wallet, audience, retries, patience, None, service_name)


def _timeout(seconds: float) -> httpx.Timeout:
    """Who waits for one of the connections is not waiting for the service."""
    return httpx.Timeout(seconds, pool=None)


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
        self._public_keys: PublishedKeys | None = None

    create = _Method(calls.create)
    list = _Method(calls.list_memories)
    list_all = _Pages(calls.list_memories)
    facets = _Method(calls.facets)
    context = _Method(calls.context)
    subjects = _Method(calls.subjects)
    profile = _Method(calls.profile)
    search = _Method(calls.search)
    answer = _Method(calls.answer)
    topics = _Method(calls.topics)
    extract = _Method(calls.extract)
    lookup = _Method(calls.lookup)
    get = _Method(calls.get)
    update = _Method(calls.update)
    delete = _Method(calls.delete)
    forget = _Method(calls.forget)
    batch_search = _Method(calls.batch_search)
    batch_delete = _Method(calls.batch_delete)
    batch_update = _Method(calls.batch_update)
    batch_create = _Method(calls.batch_create)
    register = _Method(calls.register)
    try_schema = _Method(calls.try_schema)
    list_schemas = _Method(calls.list_schemas)
    get_schema = _Method(calls.get_schema)
    update_schema = _Method(calls.update_schema)
    delete_schema = _Method(calls.delete_schema)
    attest = _Method(calls.attest)
    revoke_grant = _Method(calls.revoke_grant)
    deposit = _Method(calls.deposit)
    credits = _Method(calls.credits)
    receipt = _Method(calls.receipt)
    transactions = _Method(calls.transactions)
    statement = _Method(calls.statement)
    costs = _Method(calls.costs)
    requests = _Method(calls.requests)
    whoami = _Method(calls.whoami)
    list_keys = _Method(calls.list_keys)
    create_key = _Method(calls.create_key)
    revoke_key = _Method(calls.revoke_key)
    list_hooks = _Method(calls.list_hooks)
    create_hook = _Method(calls.create_hook)
    get_hook = _Method(calls.get_hook)
    change_hook = _Method(calls.change_hook)
    remove_hook = _Method(calls.remove_hook)
    rotate_hook_secret = _Method(calls.rotate_hook_secret)
    test_hook = _Method(calls.test_hook)
    hook_deliveries = _Method(calls.hook_deliveries)
    repeat_deliveries = _Method(calls.repeat_deliveries)

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
        on_payment_required: Callable[[PaymentDemand], Payment] | None = None,
    ) -> Muniment:
        """A client over the same connections. With `payment`, as an error carries it, a call goes on with it."""
        client = object.__new__(type(self))
        client.__dict__.update(self.__dict__)
        client._settings = _changed(self._settings, payment, retries)
        client._pay = on_payment_required or self._pay
        return client

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
                    outcome = _reply(self._http.request(**_request(step)))
                except httpx.RequestError as error:
                    outcome = _no_reply(error)
            elif isinstance(step, Pay):
                outcome = None if self._pay is None else self._pay(step.demand)
            else:
                self._sleep(step.seconds)
                outcome = None


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
        self._public_keys: PublishedKeys | None = None

    create = _AsyncMethod(calls.create)
    list = _AsyncMethod(calls.list_memories)
    list_all = _AsyncPages(calls.list_memories)
    facets = _AsyncMethod(calls.facets)
    context = _AsyncMethod(calls.context)
    subjects = _AsyncMethod(calls.subjects)
    profile = _AsyncMethod(calls.profile)
    search = _AsyncMethod(calls.search)
    answer = _AsyncMethod(calls.answer)
    topics = _AsyncMethod(calls.topics)
    extract = _AsyncMethod(calls.extract)
    lookup = _AsyncMethod(calls.lookup)
    get = _AsyncMethod(calls.get)
    update = _AsyncMethod(calls.update)
    delete = _AsyncMethod(calls.delete)
    forget = _AsyncMethod(calls.forget)
    batch_search = _AsyncMethod(calls.batch_search)
    batch_delete = _AsyncMethod(calls.batch_delete)
    batch_update = _AsyncMethod(calls.batch_update)
    batch_create = _AsyncMethod(calls.batch_create)
    register = _AsyncMethod(calls.register)
    try_schema = _AsyncMethod(calls.try_schema)
    list_schemas = _AsyncMethod(calls.list_schemas)
    get_schema = _AsyncMethod(calls.get_schema)
    update_schema = _AsyncMethod(calls.update_schema)
    delete_schema = _AsyncMethod(calls.delete_schema)
    attest = _AsyncMethod(calls.attest)
    revoke_grant = _AsyncMethod(calls.revoke_grant)
    deposit = _AsyncMethod(calls.deposit)
    credits = _AsyncMethod(calls.credits)
    receipt = _AsyncMethod(calls.receipt)
    transactions = _AsyncMethod(calls.transactions)
    statement = _AsyncMethod(calls.statement)
    costs = _AsyncMethod(calls.costs)
    requests = _AsyncMethod(calls.requests)
    whoami = _AsyncMethod(calls.whoami)
    list_keys = _AsyncMethod(calls.list_keys)
    create_key = _AsyncMethod(calls.create_key)
    revoke_key = _AsyncMethod(calls.revoke_key)
    list_hooks = _AsyncMethod(calls.list_hooks)
    create_hook = _AsyncMethod(calls.create_hook)
    get_hook = _AsyncMethod(calls.get_hook)
    change_hook = _AsyncMethod(calls.change_hook)
    remove_hook = _AsyncMethod(calls.remove_hook)
    rotate_hook_secret = _AsyncMethod(calls.rotate_hook_secret)
    test_hook = _AsyncMethod(calls.test_hook)
    hook_deliveries = _AsyncMethod(calls.hook_deliveries)
    repeat_deliveries = _AsyncMethod(calls.repeat_deliveries)

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
        on_payment_required: Callable[[PaymentDemand], Payment | Awaitable[Payment]] | None = None,
    ) -> AsyncMuniment:
        """A client over the same connections. With `payment`, as an error carries it, a call goes on with it."""
        client = object.__new__(type(self))
        client.__dict__.update(self.__dict__)
        client._settings = _changed(self._settings, payment, retries)
        client._pay = on_payment_required or self._pay
        return client

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
                    outcome = _reply(await self._http.request(**_request(step)))
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


def _request(step: Send) -> _Request:
    # A redirect would carry credentials, and a signature for another path.
    return {
        "method": step.method,
        "url": step.url,
        "headers": step.headers,
        "content": step.body,
        "follow_redirects": False,
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
