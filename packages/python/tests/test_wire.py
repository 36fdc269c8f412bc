"""What goes over the wire, what is sent again, what is raised; both clients, against a real HTTP server."""

from __future__ import annotations

import asyncio
import base64
import json
import unittest
from collections.abc import Callable
from typing import Any

import muniment
from muniment import AsyncMuniment, Message, Muniment, MunimentError, NewMemory, Payment, SearchQuery
from muniment.inputs import SearchFilters
from muniment.payment import PaymentDemand
from wire_server import WireAnswer, WireRequest, WireServer

BUSY = WireAnswer(503, {"success": False, "error": "later", "code": "overloaded"})
CREATED = WireAnswer(200, {"success": True, "created": [], "updated": []})
FOUND = WireAnswer(200, {"success": True, "memories": [], "searchedAt": "now"})
DEMAND = WireAnswer(402, {"error": "pay", "code": "payment_required", "accepts": [{"scheme": "exact"}]})
PENDING = WireAnswer(202, {"success": False, "error": "wait", "code": "payment_pending"}, (("retry-after", "3"),))
MEMORY = NewMemory("factual_memory", {"fact": "x"})


class Run:
    """The same calls by one of the clients; the pauses that it made."""

    def __init__(self, url: str, is_async: bool, **options: Any) -> None:
        self.pauses: list[float] = []
        self._is_async = is_async
        self._url = url
        self._options = options

    def __call__(self, call: Callable[[Any], Any]) -> Any:
        if not self._is_async:
            with Muniment(self._url, "key", sleep=self.pauses.append, **self._options) as client:
                return call(client)

        async def pause(seconds: float) -> None:
            self.pauses.append(seconds)

        async def run() -> Any:
            async with AsyncMuniment(self._url, "key", sleep=pause, **self._options) as client:
                return await call(client)

        return asyncio.run(run())


class Wire(unittest.TestCase):
    def both(
        self, answers: list[WireAnswer | None], check: Callable[[Run, list[WireRequest]], None], **options: Any
    ) -> None:
        """The last answer is given to all further requests."""
        for is_async in (False, True):
            with self.subTest(is_async=is_async), WireServer(lambda i: answers[min(i, len(answers) - 1)]) as server:
                check(Run(server.url, is_async, **options), server.requests)

    def test_arguments_travel_by_the_names_of_the_contract(self) -> None:
        def check(run: Run, requests: list[WireRequest]) -> None:
            run(
                lambda client: client.create(
                    agent_id="a",
                    subject_id="s",
                    conversation=[Message("user", "hi", sent_at="2026-11-21")],
                    wait=["vectors", "extraction"],
                    idempotency_key="once",
                )
            )
            [request] = requests
            self.assertEqual((request.method, request.url), ("POST", "/v1/memories"))
            self.assertEqual(request.headers["authorization"], "Bearer key")
            self.assertEqual(request.headers["idempotency-key"], "once")
            said = {"role": "user", "content": "hi", "sentAt": "2026-11-21"}
            body = {"agentId": "a", "subjectId": "s", "conversation": [said], "wait": ["vectors", "extraction"]}
            self.assertEqual(request.body, body)

        self.both([CREATED], check)

    def test_messages_travel_as_model_apis_have_them(self) -> None:
        class Said:
            """As an SDK's message, which is a model of pydantic."""

            def model_dump(self, *, mode: str, exclude_none: bool) -> dict[str, Any]:
                return {"role": "assistant", "content": f"{mode} {exclude_none}"}

        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        calling: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [call]}
        given = [calling, Message("developer", [{"type": "text", "text": "hi"}]), Said(), "alone"]
        sent = [
            calling,
            {"role": "developer", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": "json True"},
            "alone",
        ]

        def check(run: Run, requests: list[WireRequest]) -> None:
            run(lambda client: client.create(agent_id="a", conversation=given))
            run(lambda client: client.create(agent_id="a", conversation="I live in Oslo."))
            self.assertEqual([request.body["conversation"] for request in requests], [sent, "I live in Oslo."])

        self.both([CREATED], check)

    def test_queries_are_text_and_leave_out_what_is_none(self) -> None:
        def check(run: Run, requests: list[WireRequest]) -> None:
            run(lambda client: client.search(query="who & é", limit=3, explain=True, tags=["a", "b"]))
            url = "/v1/memories/search?query=who+%26+%C3%A9&tags=a%2Cb&limit=3&explain=true"
            self.assertEqual(requests[0].url, url)
            self.assertNotIn("idempotency-key", requests[0].headers)

        self.both([FOUND], check)

    def test_a_search_that_is_long_in_a_url_is_a_body(self) -> None:
        query = "我住在哪里" * 100

        def check(run: Run, requests: list[WireRequest]) -> None:
            run(lambda client: client.search(query=query, limit=3, explain=True, tags=["a", "b"], data={"n": None}))
            [request] = requests
            self.assertEqual((request.method, request.url), ("POST", "/v1/memories/search"))
            self.assertNotIn("idempotency-key", request.headers)
            asked = {"query": query, "limit": 3, "explain": True, "tags": ["a", "b"], "data": {"n": None}}
            self.assertEqual(request.body, asked)

        self.both([FOUND], check)

    def test_none_clears_and_what_is_not_given_stays(self) -> None:
        view = {"id": "m", "kind": "k", "data": {}, "metadata": {}, "source": "own"}
        context = {"mentions": [], "tags": ["t"], "isLatest": True}
        one = WireAnswer(200, {"success": True, "memory": {**view, "context": context}})

        def check(run: Run, requests: list[WireRequest]) -> None:
            answer = run(lambda client: client.update("x/y", expires_at=None))
            self.assertEqual((requests[0].method, requests[0].url), ("PATCH", "/v1/memories/x%2Fy"))
            self.assertEqual(requests[0].body, {"expiresAt": None})
            self.assertEqual(answer.memory.context.tags, ("t",))

        self.both([one], check)

    def test_batch_queries_take_filters(self) -> None:
        found = WireAnswer(200, {"success": True, "results": [{"memories": []}], "searchedAt": "now"})

        def check(run: Run, requests: list[WireRequest]) -> None:
            queries = [SearchQuery("q", SearchFilters(agent_id="a", include="messages"), 5), {"query": "r"}]
            run(lambda client: client.batch_search(queries=queries))
            first = {"query": "q", "filters": {"agentId": "a", "include": "messages"}, "limit": 5}
            self.assertEqual(requests[0].body, {"queries": [first, {"query": "r"}]})

        self.both([found], check)

    def test_a_write_is_repeated_with_the_same_key(self) -> None:
        def check(run: Run, requests: list[WireRequest]) -> None:
            run(lambda client: client.create(agent_id="a", memories=[MEMORY]))
            self.assertEqual(len(requests), 3)
            self.assertEqual(len({request.headers["idempotency-key"] for request in requests}), 1)
            self.assertTrue(0.1 <= run.pauses[0] <= 0.2 and 0.2 <= run.pauses[1] <= 0.4, run.pauses)

        self.both([None, BUSY, CREATED], check)

    def test_what_the_service_asks_for_is_waited_and_more_by_chance(self) -> None:
        def later(seconds: int) -> WireAnswer:
            limited = {"success": False, "error": "slow down", "code": "rate_limited"}
            return WireAnswer(429, limited, (("retry-after", str(seconds)),))

        def check(run: Run, requests: list[WireRequest]) -> None:
            for _ in range(4):
                run.pauses.clear()
                requests.clear()
                run(lambda client: client.search(query="q"))
                for pause, asked, spread in zip(run.pauses, (1, 1, 7, 1, 1), (1, 2, 10, 8, 10), strict=True):
                    self.assertTrue(asked <= pause <= asked + spread, run.pauses)
                self.assertNotEqual(run.pauses, [float(round(pause)) for pause in run.pauses])

        self.both([later(1), later(1), later(7), later(1), later(1), FOUND], check)

    def test_a_time_beyond_all_patience_is_not_waited(self) -> None:
        limited = WireAnswer(429, {"success": False, "error": "x", "code": "rate_limited"}, (("retry-after", "3600"),))

        def check(run: Run, requests: list[WireRequest]) -> None:
            with self.assertRaises(muniment.MunimentError) as caught:
                run(lambda client: client.search(query="q"))
            self.assertEqual((caught.exception.code, len(requests), run.pauses), ("rate_limited", 1, []))

        self.both([limited], check)

    def test_patience_is_the_sum_of_what_is_waited(self) -> None:
        busy = WireAnswer(503, {"success": False, "error": "x", "code": "overloaded"}, (("retry-after", "1"),))

        def check(run: Run, requests: list[WireRequest]) -> None:
            with self.assertRaises(muniment.MunimentError):
                run(lambda client: client.search(query="q"))
            self.assertTrue(15 <= sum(run.pauses) <= 30, run.pauses)

        self.both([busy], check, patience=30.0)

    def test_what_a_proxy_says_for_the_service_is_repeated(self) -> None:
        for status in (408, 502, 504):
            gone = WireAnswer(status, "<html>bad gateway</html>")

            def check(run: Run, requests: list[WireRequest]) -> None:
                run(lambda client: client.create(agent_id="a", memories=[MEMORY]))
                self.assertEqual(len({request.headers["idempotency-key"] for request in requests}), 1)
                self.assertEqual(len(requests), 3)

            self.both([gone, gone, CREATED], check)
            self.both([gone], self.refused_once, retries=0)

    def refused_once(self, run: Run, requests: list[WireRequest]) -> None:
        with self.assertRaises(muniment.MunimentError):
            run(lambda client: client.create(agent_id="a", memories=[MEMORY]))
        self.assertEqual(len(requests), 1)

    def test_nothing_is_repeated_without_retries(self) -> None:
        def check(run: Run, requests: list[WireRequest]) -> None:
            with self.assertRaises(muniment.ServiceError) as caught:
                run(lambda client: client.create(agent_id="a", memories=[MEMORY]))
            self.assertEqual((caught.exception.status, caught.exception.code), (503, "overloaded"))
            self.assertEqual(len(requests), 1)
            self.assertNotIn("idempotency-key", requests[0].headers)

        self.both([BUSY], check, retries=0)

    def test_errors_have_a_class_for_their_status(self) -> None:
        for status, kind in (
            (400, muniment.InvalidRequestError),
            (401, muniment.AuthenticationError),
            (403, muniment.PermissionDeniedError),
            (404, muniment.NotFoundError),
            (409, muniment.ConflictError),
            (413, muniment.PayloadTooLargeError),
            (500, muniment.ServiceError),
        ):
            details = [{"message": "must be text", "index": 1, "path": "/fact"}]
            body = {"success": False, "error": "no", "code": "some_code", "details": details}

            def check(run: Run, requests: list[WireRequest]) -> None:
                with self.assertRaises(kind) as caught:
                    run(lambda client: client.whoami())
                self.assertEqual((caught.exception.status, caught.exception.code), (status, "some_code"))
                self.assertEqual(str(caught.exception), "no (some_code)\n  memory 1/fact: must be text")
                self.assertEqual(len(requests), 1)

            self.both([WireAnswer(status, body)], check)

    def test_an_answer_that_is_not_the_services_is_an_error(self) -> None:
        def check(run: Run, requests: list[WireRequest]) -> None:
            with self.assertRaises(MunimentError) as caught:
                run(lambda client: client.whoami())
            self.assertEqual(caught.exception.code, "invalid_response")

        self.both([WireAnswer(200, "<html>hello</html>")], check)
        self.both([WireAnswer(200, {"success": True})], check)
        self.both([WireAnswer(301, "", (("location", "/elsewhere"),))], check)

    def test_a_service_that_is_not_there_is_an_error(self) -> None:
        with WireServer(lambda _: None) as server:
            url = server.url
        for is_async in (False, True):
            with self.assertRaises(muniment.ConnectionFailedError) as caught:
                Run(url, is_async)(lambda client: client.whoami())
            self.assertEqual((caught.exception.status, caught.exception.code), (0, "network_error"))

    def test_one_payment_is_signed_and_sent_until_the_outcome_is_known(self) -> None:
        signed: list[PaymentDemand] = []

        def pay(demand: PaymentDemand) -> Payment:
            signed.append(demand)
            return Payment("payment-signature", f"signed {len(signed)}")

        receipt = base64.b64encode(json.dumps({"transaction": "0x1", "network": "base"}).encode()).decode()
        amount, balance = {"amount_usd": 5, "credits": 5000}, {"credits": 5000, "usd": 5}
        body = {"success": True, "deposit": amount, "balance": balance, "message": "thanks"}
        paid = WireAnswer(200, body, (("payment-response", receipt),))

        def check(run: Run, requests: list[WireRequest]) -> None:
            signed.clear()
            answer = run(lambda client: client.deposit(5))
            self.assertEqual((answer.balance.credits, answer.receipt.transaction), (5000, "0x1"))
            self.assertEqual(len(signed), 1)
            sent = [request.headers.get("payment-signature") for request in requests]
            self.assertEqual(sent, [None, "signed 1", "signed 1", "signed 1"])
            self.assertTrue(all(3 <= pause <= 3 + spread for pause, spread in zip(run.pauses, (3, 6), strict=True)))
            self.assertEqual(requests[0].url, "/v1/credits/deposit?amount_usd=5")

        self.both([DEMAND, PENDING, PENDING, paid], check, on_payment_required=pay)

    def test_a_call_goes_on_with_the_payment_of_its_error(self) -> None:
        def check(run: Run, requests: list[WireRequest]) -> None:
            with self.assertRaises(muniment.PaymentRequiredError) as caught:
                run(lambda client: client.create(agent_id="a", memories=[MEMORY]))
            payment = caught.exception.payment
            self.assertEqual(payment, Payment("x-payment", "signed"))
            self.assertEqual(len(requests), 2)
            run(lambda client: client.with_options(payment=payment).create(agent_id="a", memories=[MEMORY]))
            self.assertEqual(requests[2].headers["x-payment"], "signed")

        self.both(
            [DEMAND, DEMAND, CREATED], check, on_payment_required=lambda _: Payment("x-payment", "signed")
        )

    def test_the_base_url_may_end_with_its_version(self) -> None:
        for ending in ("", "/", "/v1", "/v1/"):
            with WireServer(lambda _: FOUND) as server, Muniment(server.url + ending, "key") as client:
                client.search(query="q")
                self.assertEqual(server.requests[0].url, "/v1/memories/search?query=q")

    def test_credentials_are_one_key_or_one_wallet(self) -> None:
        class Nobody:
            address = "0x"

            def sign(self, message: str) -> str:
                return message

        with self.assertRaises(ValueError):
            Muniment("http://127.0.0.1:1", "key", wallet=Nobody())


if __name__ == "__main__":
    unittest.main()
