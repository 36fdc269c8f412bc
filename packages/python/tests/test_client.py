"""The clients as Python objects: signatures and texts, settings, errors that travel between processes, times, limits, and
the stream of events.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import itertools
import json
import multiprocessing
import os
import unittest
from concurrent.futures import ProcessPoolExecutor
from datetime import date, datetime, timezone
from typing import Any
from unittest.mock import patch

import muniment
from muniment import AsyncMuniment, Message, Muniment, MunimentError, NewMemory, Payment
from muniment.answers import Event
from muniment.errors import ErrorDetail
from muniment.limits import MEMORIES_PER_REQUEST_MAX, REQUEST_BYTES_MAX, message_parts, query_of, requests_of
from muniment.payment import PaymentDemand
from wire_server import WireAnswer, WireServer

CREATED = WireAnswer(200, {"success": True, "created": [], "updated": []})
DELETED = WireAnswer(200, {"success": True, "deleted": 3})
FOUND = WireAnswer(200, {"success": True, "memories": [], "searchedAt": "now"})
NOON = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)
ERRORS = [
    kind
    for kind in vars(muniment.errors).values()
    if isinstance(kind, type) and issubclass(kind, MunimentError)
]


def error_of(kind: type[MunimentError]) -> MunimentError:
    return kind(
        "no",
        status=402,
        code="some_code",
        details=[ErrorDetail("must be text", 1, "/fact")],
        retry_after=2.5,
        payment_required=PaymentDemand(({"scheme": "exact"},), {}, None),
        payment=Payment("x-payment", "signed"),
    )


def raised(kind: type[MunimentError]) -> None:
    raise error_of(kind)


def seen(error: MunimentError) -> dict[str, Any]:
    return {**error.__dict__, "class": type(error), "text": str(error)}


class Client(unittest.TestCase):
    def test_every_error_travels_between_processes_and_can_be_copied(self) -> None:
        self.assertGreater(len(ERRORS), 10)
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            for kind in ERRORS:
                with self.assertRaises(kind) as caught:
                    pool.submit(raised, kind).result()
                self.assertEqual(seen(caught.exception), seen(error_of(kind)))
                self.assertEqual(seen(copy.deepcopy(error_of(kind))), seen(error_of(kind)))

    def test_an_error_says_each_place_once(self) -> None:
        places = [ErrorDetail("expected true or false", None, "/useful"), ErrorDetail("is missing", None, "/query")]
        error = MunimentError("/useful: expected true or false", status=400, code="invalid_request", details=places)
        self.assertEqual(str(error), "/useful: expected true or false (invalid_request)\n  /query: is missing")
        kinds = [ErrorDetail(f'"{name}" is not known', at, f"/memories/{at}/kind") for at, name in enumerate(("a", "b"))]
        fields = [ErrorDetail("must be text", 1, "/fact"), ErrorDetail("must have a subject", 2, "")]
        for message, details, text in [
            ('/memories/0/kind: "a" is not known', kinds, '\n  /memories/1/kind: "b" is not known'),
            ("/memories/1/data/fact: must be text", fields, "\n  memory 2: must have a subject"),
        ]:
            error = MunimentError(message, status=400, code="invalid_request", details=details)
            self.assertEqual(str(error), f"{message} (invalid_request){text}")

    def test_every_method_says_what_it_takes_and_gives(self) -> None:
        for client in (Muniment, AsyncMuniment):
            for name, method in inspect.getmembers(client, inspect.isfunction):
                if name.startswith("_") or name in ("close", "with_options", "public_keys", "follow_events"):
                    continue
                self.assertEqual(method.__qualname__, f"{client.__name__}.{name}")
                shape, text = inspect.signature(method), inspect.getdoc(method) or ""
                self.assertNotIn("Call[", str(shape.return_annotation), name)
                self.assertIn(text[0], "ABCDEFGHIJKLMNOPQRSTUVWXYZ`", name)
                for parameter in list(shape.parameters)[1:]:
                    self.assertRegex(text, rf"(?m)^    {parameter}: \S", name)
        self.assertTrue(inspect.iscoroutinefunction(AsyncMuniment.create))
        self.assertIn("agent_id: 'str'", str(inspect.signature(Muniment.create)))

    def test_settings_that_cannot_be_used_are_named(self) -> None:
        url = "http://127.0.0.1:1"
        for make, reason in (
            (lambda: Muniment(url, ""), "api_key is empty"),
            (lambda: Muniment(url, "mun_x\n"), "api_key is no key: it has a blank or a line end"),
            (lambda: Muniment("127.0.0.1:8787", "key"), "base_url must begin with http:// or https://"),
            (lambda: AsyncMuniment("", "key"), "base_url must begin with http:// or https://"),
        ):
            with patch.dict(os.environ, {"MUNIMENT_API_KEY": "other"}), self.assertRaisesRegex(ValueError, reason):
                make()
        for environment, reason in (
            ({"MUNIMENT_API_KEY": "a b"}, "MUNIMENT_API_KEY is no key"),
            ({"MUNIMENT_API_KEY": "key", "MUNIMENT_URL": "localhost"}, "MUNIMENT_URL must begin with http://"),
            ({}, "give api_key or wallet, or set MUNIMENT_API_KEY"),
        ):
            with patch.dict(os.environ, environment, clear=True), self.assertRaisesRegex(ValueError, reason):
                Muniment()

    def test_a_call_may_have_a_time_limit_of_its_own(self) -> None:
        with WireServer(lambda _: FOUND, seconds=0.5) as server, Muniment(server.url, "key", retries=0) as client:
            with self.assertRaises(muniment.ConnectionFailedError) as caught:
                client.with_options(timeout=0.05).search(query="q")
            self.assertEqual(caught.exception.code, "timeout")
            self.assertEqual(client.search(query="q").memories, ())

    def test_times_may_be_of_python(self) -> None:
        with WireServer(lambda i: FOUND if i == 0 else CREATED) as server, Muniment(server.url, "key") as client:
            client.search(query="q", event_date_from=date(2026, 11, 1), now=NOON)
            ending = NewMemory("k", {"at": NOON}, expires_at=NOON)
            client.create(agent_id="a", memories=[ending], expires_at=NOON)
            said = Message("user", "hi", sent_at=NOON)
            client.create(agent_id="a", conversation=[said], conversation_date=date(2026, 11, 21))
        searched, stored, talked = server.requests
        self.assertIn("eventDateFrom=2026-11-01&now=2026-11-21T12%3A00%3A00%2B00%3A00", searched.url)
        millis = 1_795_262_400_000
        self.assertEqual(stored.body["expiresAt"], millis)
        memory = {"kind": "k", "data": {"at": "2026-11-21T12:00:00+00:00"}, "expiresAt": millis}
        self.assertEqual(stored.body["memories"], [memory])
        self.assertEqual(talked.body["conversation"][0]["sentAt"], "2026-11-21T12:00:00+00:00")
        self.assertEqual(talked.body["conversationDate"], "2026-11-21")

    def test_answers_say_what_could_not_be_read_or_opened(self) -> None:
        problem = {"code": "model_timeout", "message": "it is asked again"}
        partial = {"success": True, "created": [], "updated": [], "extraction": "partial", "extractionProblem": problem}
        grant = {"index": 0, "grantor": "0xa", "reason": "expired", "message": "it has ended"}
        found = {"success": True, "memories": [], "searchedAt": "now", "unusableGrants": [grant]}
        replies = [WireAnswer(200, partial), WireAnswer(200, found)]
        with WireServer(lambda i: replies[i]) as server, Muniment(server.url, "key") as client:
            created = client.create(agent_id="a", conversation="hi")
            [unusable] = client.search(query="q").unusable_grants
        self.assertEqual(created.extraction, "partial")
        self.assertEqual(created.extraction_problem and created.extraction_problem.code, "model_timeout")
        self.assertEqual((unusable.grantor, unusable.reason), ("0xa", "expired"))

    def test_a_moment_without_a_zone_is_local(self) -> None:
        naive = datetime(2026, 3, 2, 9, 30)
        found = WireAnswer(200, {"success": True, "results": [], "searchedAt": "now"})
        with WireServer(lambda i: CREATED if i == 0 else found) as server, Muniment(server.url, "key") as client:
            client.create(agent_id="a", conversation=[Message("user", "hi", sent_at=naive)])
            client.batch_search(queries=[], as_of=naive, now=naive)
        talked, searched = server.requests
        for given in (talked.body["conversation"][0]["sentAt"], searched.body["asOf"], searched.body["now"]):
            self.assertIsNotNone(datetime.fromisoformat(given).tzinfo)
            self.assertEqual(datetime.fromisoformat(given).timestamp(), naive.timestamp())

    def test_add_takes_a_text_or_messages(self) -> None:
        with WireServer(lambda _: CREATED) as server, Muniment(server.url, "key") as client:
            client.add("I live in Oslo")
            client.add([{"role": "user", "content": "hi"}], agent_id="a", subject_id="bob", thread_id="t")
        first, second = (request.body for request in server.requests)
        self.assertEqual(first, {"agentId": "assistant", "conversation": "I live in Oslo"})
        said = [{"role": "user", "content": "hi"}]
        self.assertEqual(second, {"agentId": "a", "subjectId": "bob", "threadId": "t", "conversation": said})

    def test_forget_takes_an_id_or_filters(self) -> None:
        with WireServer(lambda _: DELETED) as server, Muniment(server.url, "key") as client:
            self.assertEqual(client.forget(subject_id="bob").deleted, 3)
            self.assertEqual(client.forget("mem_1").deleted, 3)
            with self.assertRaises(ValueError):
                client.forget()
            with self.assertRaises(ValueError):
                client.forget("")
            with self.assertRaises(ValueError):
                client.forget("mem_1", subject_id="bob")
        by_filters, by_id = server.requests
        self.assertEqual(by_filters.body, {"filters": {"subjectId": "bob"}, "versions": "all"})
        self.assertEqual((by_id.method, by_id.url), ("DELETE", "/v1/memories/mem_1?versions=all"))

    def test_what_is_handed_on_fits_into_calls(self) -> None:
        self.assertEqual(len(query_of("我" * 5_000) or ""), 2_000)
        self.assertIsNone(query_of(" \n"))
        self.assertEqual("".join(message_parts("x" * 70_000)), "x" * 70_000)
        self.assertEqual([len(part) for part in message_parts("x" * 70_000)], [32_000, 32_000, 6_000])
        long = [NewMemory("k", {"text": "我" * 20_000}) for _ in range(40)]
        requests = list(requests_of(long))
        self.assertEqual(sum(map(len, requests)), 40)
        for request in requests:
            sent = json.dumps([{"kind": one.kind, "data": one.data} for one in request], ensure_ascii=False)
            self.assertLess(len(sent.encode()), REQUEST_BYTES_MAX)
        counted = [len(request) for request in requests_of([NewMemory("k", {})] * 250)]
        self.assertEqual(counted, [MEMORIES_PER_REQUEST_MAX, MEMORIES_PER_REQUEST_MAX, 50])

    def test_events_are_followed_through_cut_connections(self) -> None:
        event = {"type": "memory.created", "timestamp": "t", "data": {"agentId": "a", "memoryId": "m"}}
        stream = (("content-type", "text/event-stream"),)
        answers = [
            WireAnswer(200, f"id: 1\n\nid: 2\ndata: {json.dumps(event)}\n\nid: 3\ndata: {{", stream),
            WireAnswer(503, {"success": False, "error": "later", "code": "overloaded"}),
            WireAnswer(200, f": still here\n\nid: 4\ndata: {json.dumps(event)}\n\n", stream),
            WireAnswer(401, {"success": False, "error": "no", "code": "invalid_key"}),
        ]
        pauses: list[float] = []

        async def pause(seconds: float) -> None:
            pauses.append(seconds)

        async def followed(url: str) -> list[Event]:
            found = []
            async with AsyncMuniment(url, "key", sleep=pause) as client:
                with self.assertRaises(muniment.AuthenticationError):
                    async for one in client.follow_events(agent_id="a", from_="oldest"):
                        found.append(one)
            return found

        for is_async in (False, True):
            with WireServer(lambda i: answers[min(i, 3)]) as server:
                if is_async:
                    events = asyncio.run(followed(server.url))
                else:
                    with Muniment(server.url, "key", sleep=pauses.append) as client:
                        follow = client.follow_events(agent_id="a", from_="oldest")
                        events = list(itertools.islice(follow, 2))
                        with self.assertRaises(muniment.AuthenticationError):
                            next(follow)
            self.assertEqual([(one.id, one.data.memory_id) for one in events], [("2", "m"), ("4", "m")])
            self.assertEqual(server.requests[0].url, "/v1/events?agentId=a&from=oldest")
            self.assertEqual([one.headers.get("last-event-id") for one in server.requests], [None, "2", "2", "4"])
        self.assertEqual(len(pauses), 6)


if __name__ == "__main__":
    unittest.main()
