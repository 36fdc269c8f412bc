"""Both clients against the real service: every method once, wallets, attestations, sharing."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
import unittest
from typing import Any

from muniment import AsyncMuniment, InvalidRequestError, Message, Muniment, NewMemory, NotFoundError, SearchQuery
from muniment.attestation import verify_attestation
from muniment.grants import Grant, GrantPayload, encode_share_code, grant_message, grant_prefix
from muniment.inputs import SearchFilters
from muniment.wallet import EvmWallet, SolanaWallet

URL = os.environ["MUNIMENT_URL"]
AGENT = "python"
LIVES = NewMemory("factual_memory", {"subject": "Alice", "fact": "Alice lives in Seattle"})
WORKS = NewMemory("factual_memory", {"subject": "Alice", "fact": "Alice works as a baker"}, ttl="30d")


class Service(unittest.TestCase):
    def setUp(self) -> None:
        self.memory = Muniment()
        self.addCleanup(self.memory.close)

    def test_finds_by_the_longest_queries(self) -> None:
        [stored] = self.memory.create(agent_id="long", memories=[LIVES], wait="vectors").created
        for filler in ("我", "🏠", "𠮷", "%"):
            query = f"Where does Alice live? {filler * 1_977}"
            found = self.memory.search(query=query, agent_id="long")
            self.assertEqual([hit.id for hit in found.memories], [stored.id])
            self.assertIsNotNone(self.memory.answer(query=query, agent_id="long").grounded)
            self.assertIsNotNone(self.memory.topics(query=query, agent_id="long").memory_map)

    def test_stores_finds_changes_and_deletes(self) -> None:
        memory = self.memory
        created = memory.create(agent_id=AGENT, memories=[LIVES, WORKS], wait="vectors")
        first, second = created.created
        self.assertEqual(first.data["fact"], "Alice lives in Seattle")
        found = memory.search(query="Where does Alice live?", agent_id=AGENT, limit=2, explain=True)
        self.assertEqual({hit.id for hit in found.memories}, {first.id, second.id})
        hit = next(hit for hit in found.memories if hit.id == first.id)
        self.assertTrue(0 < hit.quality.relevance <= 1 and hit.context.is_latest)
        self.assertIsNotNone(hit.explain)
        got = memory.get(first.id).memory
        self.assertEqual((got.data, got.metadata), (first.data, hit.metadata))
        self.assertEqual(memory.update(first.id, tags=["home"]).memory.context.tags, ("home",))
        expiring = memory.update(second.id, expires_at=4_000_000_000_000).memory
        self.assertEqual(expiring.metadata["expiresAt"], 4_000_000_000_000)
        self.assertNotIn("expiresAt", memory.update(second.id, expires_at=None).memory.metadata)
        self.assertEqual([one.id for one in memory.list(agent_id=AGENT, tags=["home"]).memories], [first.id])
        self.assertEqual({one.id for one in memory.list_all(agent_id=AGENT, limit=1)}, {first.id, second.id})
        self.assertEqual([one.id for one in memory.list(agent_id=AGENT, order="asc").memories], [first.id, second.id])
        counted = memory.facets(facet="tags", agent_id=AGENT)
        self.assertEqual([(value.value, value.memories) for value in counted.values], [("home", 1)])
        mine = SearchFilters(agent_id=AGENT)
        other = {"query": "baker", "filters": {"agentId": AGENT}, "limit": 1}
        batch = memory.batch_search(queries=[SearchQuery("Seattle", mine, limit=1), other])
        self.assertEqual([result.memories[0].id for result in batch.results], [first.id, second.id])
        self.assertEqual(memory.batch_update(ids=[first.id], tags=["a", "b"]).updated, 1)
        self.assertEqual(memory.batch_delete(filters={"agentId": AGENT}, dry_run=True).deleted, 2)
        self.assertTrue(memory.delete(first.id).success)
        with self.assertRaises(NotFoundError) as caught:
            memory.get(first.id)
        self.assertEqual(caught.exception.code, "memory_not_found")
        self.assertEqual(memory.batch_delete(ids=[second.id]).deleted, 1)

    def test_shows_what_callers_said_of_a_memory_and_its_versions(self) -> None:
        memory, agent = self.memory, "judged"
        stored = memory.create(agent_id=agent, memories=[LIVES, WORKS]).created[0]
        self.assertEqual(memory.get(stored.id).memory.feedback, ())
        memory.feedback(stored.id, useful=False, query="Where does Alice live?")
        judged = memory.feedback(stored.id, useful=True, query="Where does Alice live?").memory
        self.assertEqual([(one.useful, one.query) for one in judged.feedback], [(True, "Where does Alice live?")])
        self.assertGreater(judged.feedback[0].at, 0)
        self.assertEqual([one.id for one in memory.list(agent_id=agent, feedback="useful").memories], [stored.id])
        self.assertEqual(memory.list(agent_id=agent, feedback="not_useful").memories, ())
        (version,) = memory.history(stored.id).versions
        self.assertEqual((version.how, version.memory.feedback), ("stored", judged.feedback))
        self.assertEqual(memory.restore(stored.id).memory.id, stored.id)

    def test_restores_a_version_over_what_a_message_says(self) -> None:
        of: dict[str, Any] = {"agent_id": "restored", "subject_id": "ann"}
        for day, city in (("2026-03-02", "Lisbon"), ("2026-05-11", "Porto")):
            said = [Message("user", f"I live in {city}.", sent_at=f"{day}T09:00:00Z")]
            self.memory.create(**of, thread_id=day, conversation=said, wait="extraction")
        [home] = self.memory.list(**of, kind="factual_memory").memories
        older = self.memory.history(home.id).versions[1]
        handed = self.memory.context(**of, query="Where do I live?", as_of=older.at)
        self.assertIn("Lisbon", handed.text)
        self.assertNotIn("Porto", handed.text)
        restored = self.memory.restore(older.memory.id).memory
        hits = self.memory.search(**of, query="Where do I live?", include="messages").memories
        corrected = {str(hit.data["text"]): hit.context.corrected_by for hit in hits}
        self.assertEqual(corrected, {"I live in Lisbon.": None, "I live in Porto.": restored.id})
        self.assertIn("Lisbon", self.memory.answer(**of, query="Where do I live?").answer)

    def test_repeats_a_write_without_doing_it_twice(self) -> None:
        key = secrets.token_hex(8)
        answers = [
            self.memory.batch_create(agent_id="twice", memories=[LIVES], idempotency_key=key) for _ in range(2)
        ]
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(self.memory.list(agent_id="twice").total, 1)

    def test_remembers_a_conversation_and_answers(self) -> None:
        said = [Message("user", "My name is Bob and I work in Oslo as a baker.", id="m1")]
        created = self.memory.create(
            agent_id="talk", subject_id="bob", thread_id="first", conversation=said, wait=["vectors", "extraction"]
        )
        self.assertEqual((created.messages and created.messages.stored, created.extraction), (1, "done"))
        found = self.memory.extract(conversation=said).found
        self.assertIn(("m1",), [candidate.source_message_ids for candidate in found])
        answer = self.memory.answer(query="Where does Bob work?", agent_id="talk")
        self.assertIn("Oslo", answer.answer)
        self.assertTrue(set(answer.citations) <= {cited.id for cited in answer.memories})
        reply = Message("assistant", "How early do you rise?", id="m2")
        self.memory.create(agent_id="talk", subject_id="bob", thread_id="first", conversation=[reply])
        asked = SearchQuery("baker", SearchFilters(agent_id="talk", kind="conversation_message"), context=1)
        found_one = self.memory.search(query="baker", agent_id="talk", kind="conversation_message", context=1).memories[0]
        self.assertEqual(self.memory.batch_search(queries=[asked]).results[0].memories[0], found_one)
        turns = found_one.context.around or ()
        self.assertEqual([(turn.offset, turn.role, turn.text) for turn in turns], [(1, reply.role, reply.content)])
        usual = self.memory.search(query="baker", agent_id="talk", rerank="model")
        self.assertEqual((usual.reranked, usual.rerank_problem and usual.rerank_problem.code), (False, "model_missing"))
        topics = self.memory.topics(query="Bob", agent_id="talk", include="all")
        stored = {one.id for one in self.memory.list_all(agent_id="talk")}
        self.assertEqual({point.id for point in topics.points}, stored)

    def test_hands_over_the_context_of_a_prompt(self) -> None:
        memory, agent = self.memory, "handed"
        rule = NewMemory("instruction_memory", {"text": "Answer in metric units."})
        stored = memory.create(agent_id=agent, subject_id="bob", memories=[rule]).created[0]
        said = [Message("user", "My name is Bob and I work in Oslo as a baker.", id="m1")]
        memory.create(agent_id=agent, subject_id="bob", thread_id="first", conversation=said, wait="extraction")
        handed = memory.context(agent_id=agent, subject_id="bob", query="What is Bob's trade?", max_tokens=400)
        self.assertIn("Answer in metric units", handed.text)
        self.assertIn("as a baker", handed.text)
        self.assertIn(stored.id, handed.sources)
        self.assertLessEqual(handed.tokens, 400)
        asked = [Message("user", "Any news of my bakery?")]
        parts = memory.context(
            agent_id=agent, subject_id="bob", messages=asked, sections=["instructions"], format="json"
        ).sections
        self.assertEqual([(part.name, part.items[0].id) for part in parts], [("instructions", stored.id)])
        page = memory.subjects(agent_id=agent)
        self.assertEqual([(one.subject_id, one.names) for one in page.subjects], [("bob", ("Bob",))])
        profile = memory.profile("bob", agent_id=agent)
        self.assertIn("instructions", [topic.topic for topic in profile.topics])
        self.assertTrue(profile.is_complete)

    def test_registers_kinds(self) -> None:
        memory, name = self.memory, "python_contact"
        schema = '{"type":"object","properties":{"email":{"type":"string"}}}'
        registered = memory.register(name=name, description="A person", schema=schema, unique_on=["email"])
        self.assertEqual(registered.schema.unique_on, ("email",))
        self.assertIn(name, [kind.name for kind in memory.list_schemas().schemas])
        self.assertEqual(memory.update_schema(name, description="People").schema.description, "People")
        self.assertEqual(memory.get_schema(name).schema.description, "People")
        with self.assertRaises(InvalidRequestError) as caught:
            memory.create(agent_id=AGENT, memories=[NewMemory(name, {"email": 1})])
        self.assertEqual((caught.exception.code, caught.exception.details[0].index), ("schema_validation_failed", 0))
        tried = memory.try_schema(kind=name, data={"email": 1})
        self.assertEqual((tried.valid, [problem.path for problem in tried.problems]), (False, ["/email"]))
        self.assertTrue(memory.try_schema(schema=schema, data={"email": "a@b"}).valid)
        stored = memory.create(agent_id="contacts", memories=[NewMemory(name, {"email": "a@b"})]).created[0]
        looked = memory.lookup(agent_id="contacts", kind=name, key={"email": "a@b"}).memory
        self.assertEqual(looked.id, stored.id)
        memory.delete(stored.id)
        self.assertEqual(memory.delete_schema(name).deleted, 1)
        self.assertNotIn(name, [kind.name for kind in memory.list_schemas().schemas])

    def test_shows_the_account_and_its_keys(self) -> None:
        memory = self.memory
        account = memory.whoami().account
        made = memory.create_key(label="reader", read_only=True)
        self.assertIn(made.key.id, [key.id for key in memory.list_keys().keys])
        with Muniment(api_key=made.secret) as reader:
            self.assertEqual(reader.whoami().account.id, account.id)
        self.assertEqual(memory.revoke_key(made.key.id).key.id, made.key.id)
        self.assertEqual(memory.credits().plan, account.plan)
        self.assertLessEqual(len(memory.transactions(limit=5).transactions), 5)
        self.assertEqual(memory.statement(from_="2026-01-01", limit=1).account, account.name)
        self.assertEqual(memory.requests(operation="account.statement", limit=1).requests[0].status, 200)
        self.assertLessEqual(len(memory.costs(from_="2026-01-01", limit=1).agents), 1)

    def test_keeps_webhooks(self) -> None:
        memory = self.memory
        made = memory.create_hook("https://hooks.example.com/x", types=["memory.created"])
        self.assertTrue(made.secret.startswith("whsec_"))
        hook = memory.change_hook(made.webhook.id, state="paused").webhook
        self.assertEqual((hook.state, hook.types, hook.agents), ("paused", ("memory.created",), None))
        self.assertEqual(memory.list_hooks().webhooks, (memory.get_hook(hook.id).webhook,))
        self.assertNotEqual(memory.rotate_hook_secret(hook.id).secret, made.secret)
        self.assertEqual(memory.hook_deliveries(hook.id).deliveries, ())
        self.assertEqual(memory.repeat_deliveries(hook.id).repeated, 0)
        memory.change_hook(hook.id, url="https://nowhere.invalid/x")
        trial = memory.test_hook(hook.id)
        self.assertEqual((trial.delivered, trial.reason is None), (False, False))
        memory.remove_hook(hook.id)
        self.assertEqual(memory.list_hooks().webhooks, ())

    def test_signs_by_wallets_shares_and_attests(self) -> None:
        owner, reader = EvmWallet(secrets.token_bytes(32)), SolanaWallet(secrets.token_bytes(32))
        with Muniment(wallet=owner) as mine, Muniment(wallet=reader) as theirs:
            mine.create(agent_id="shared é", memories=[LIVES], wait="vectors")
            self.assertEqual(theirs.whoami().account.id, reader.address)
            until = int(time.time()) + 3_600
            payload: GrantPayload = {"f": owner.address, "g": reader.address, "e": until, "a": "shared é"}
            grant: Grant = {"p": payload, "s": owner.sign(grant_message(grant_prefix(), payload)), "c": "evm"}
            found = theirs.search(query="Where does Alice live?", scope="shared", grants=[grant])
            [hit] = found.memories
            self.assertEqual((hit.source, hit.data["fact"]), ("shared", "Alice lives in Seattle"))
            self.assertEqual(len(theirs.search(query="Alice", grants=encode_share_code([grant])).memories), 1)
            [vouched] = (found.source_attestations or {}).values()
            self.assertTrue(verify_attestation(vouched, theirs.public_keys()))
            signed = mine.attest({"claim": "memory_count_gte", "threshold": 1})
            self.assertTrue(signed.attestation["result"]["satisfied"])
            self.assertTrue(verify_attestation(signed, mine.public_keys(refresh=True)))
            self.assertTrue(mine.revoke_grant(grant).revoked)
            self.assertEqual(theirs.search(query="Alice", scope="all", grants=[grant]).memories, ())

    def test_is_awaited_with_the_same_methods(self) -> None:
        async def run() -> None:
            async with AsyncMuniment() as memory:
                agents = [f"async-{index}" for index in range(4)]
                await asyncio.gather(
                    *(memory.create(agent_id=agent, memories=[LIVES], wait="vectors") for agent in agents)
                )
                found = await asyncio.gather(*(memory.search(query="Alice", agent_id=agent) for agent in agents))
                self.assertEqual([len(one.memories) for one in found], [1, 1, 1, 1])
                kinds = [one.kind async for one in memory.list_all(agent_id=agents[0])]
                self.assertEqual(kinds, ["factual_memory"])
                self.assertEqual((await memory.public_keys()).algorithm, "Ed25519")
                with self.assertRaises(NotFoundError):
                    await memory.get("mem_unknown")

        asyncio.run(run())

    def test_has_the_same_methods_in_both_clients(self) -> None:
        def public(kind: type) -> set[str]:
            return {name for name in dir(kind) if not name.startswith("_")}

        self.assertEqual(public(Muniment), public(AsyncMuniment))


if __name__ == "__main__":
    unittest.main()
