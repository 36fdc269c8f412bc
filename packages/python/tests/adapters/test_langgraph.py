"""The store for LangGraph beside LangGraph's own in-memory store: the same operations give the same results."""

import asyncio
import random
import unittest
import uuid
from typing import Any

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    NamespacePath,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from muniment import Muniment
from muniment.adapters.langgraph import MunimentStore

NAMESPACES = [("users", "1"), ("users", "12"), ("users", "1", "notes"), ("docs",), ("docs", "1")]
KEYS = ["a", "b", "ключ with blanks/and:signs", "k" * 200]
FILTERS: list[dict[str, Any]] = [
    {"n": 2},
    {"n": {"$gt": 1}},
    {"n": {"$gte": 1, "$lt": 3}},
    {"n": {"$lte": 2}},
    {"n": {"$ne": 2}},
    {"tags": ["x", "y"]},
    {"in": {"depth": {"$eq": 1}}},
    {"n": 0, "in": {"depth": 0}},
]


client = Muniment()


def tearDownModule() -> None:
    client.close()


def own_store() -> MunimentStore:
    return MunimentStore(client, agent_id=f"langgraph-{uuid.uuid4().hex}")


def shown(items: Any) -> list[tuple[tuple[str, ...], str, str]]:
    return sorted((item.namespace, item.key, repr(item.value)) for item in items)


class SameAsLangGraphsOwn(unittest.TestCase):
    def test_random_histories(self) -> None:
        seed = random.randrange(2**32)
        chance = random.Random(seed)
        ours, theirs = own_store(), InMemoryStore()
        stored: dict[tuple[str, ...], set[str]] = {namespace: set() for namespace in NAMESPACES}
        for step in range(45):
            namespace, key = chance.choice(NAMESPACES), chance.choice(KEYS)
            if chance.random() < 0.3:
                ours.delete(namespace, key)
                theirs.delete(namespace, key)
                stored[namespace].discard(key)
            else:
                value = {"n": chance.randrange(4), "tags": ["x", "y"][: step % 3], "in": {"depth": step % 2}}
                ours.put(namespace, key, value)
                theirs.put(namespace, key, value)
                stored[namespace].add(key)
            if step % 15 == 14:
                with self.subTest(seed=seed, step=step):
                    self.compare(ours, theirs, {name for name, keys in stored.items() if keys})

    def compare(self, ours: MunimentStore, theirs: InMemoryStore, filled: set[tuple[str, ...]]) -> None:
        for namespace in NAMESPACES:
            got, expected = ([store.get(namespace, key) for key in KEYS] for store in (ours, theirs))
            self.assertEqual([item and item.value for item in got], [item and item.value for item in expected])
        for prefix in [(), ("users",), ("users", "1"), ("docs",), ("nothing",)]:
            self.assertEqual(shown(ours.search(prefix, limit=50)), shown(theirs.search(prefix, limit=50)))
            for wanted in FILTERS:
                found, expected_found = (store.search(prefix, filter=wanted, limit=50) for store in (ours, theirs))
                self.assertEqual(shown(found), shown(expected_found), wanted)
        self.assertEqual(set(ours.list_namespaces()), filled)
        ends: list[tuple[NamespacePath | None, NamespacePath | None]] = [
            (("users",), None),
            (None, ("1",)),
            (("users", "*"), ("notes",)),
            (("*", "1"), None),
        ]
        for first, last in ends:
            names = theirs.list_namespaces(prefix=first, suffix=last, limit=50)
            self.assertEqual(ours.list_namespaces(prefix=first, suffix=last), [name for name in names if name in filled])


class Store(unittest.TestCase):
    def test_search_by_meaning(self) -> None:
        store = own_store()
        store.put(("users", "ann"), "drink", {"text": "Ann has a cup of green tea every morning"})
        store.put(("users", "ann"), "home", {"text": "Ann moved to Lisbon"})
        store.put(("users", "ann"), "hidden", {"text": "Ann drinks tea in secret"}, index=False)
        store.put(("users", "bob"), "drink", {"text": "Bob prefers espresso"})
        best = store.search(("users", "ann"), query="which beverage does she like?")
        self.assertEqual([item.key for item in best], ["drink", "home"])
        self.assertGreater(best[0].score or 0, best[1].score or 0)
        self.assertEqual([item.key for item in store.search((), query="espresso", limit=1)], ["drink"])
        self.assertEqual(store.search(("users",), query="espresso", limit=1)[0].namespace, ("users", "bob"))
        self.assertEqual(len(store.search(("users",), query="Ann", limit=10, offset=1)), 2)

    def test_questions_of_any_length(self) -> None:
        store = own_store()
        store.put(("a",), "home", {"text": "Ann lives in Lisbon"})
        [found] = store.search(("a",), query="Where does Ann live? " + "Please say. " * 1_000)
        self.assertEqual(found.key, "home")
        self.assertEqual([item.key for item in store.search(("a",), query=" ")], ["home"])

    def test_pages_of_many_items_newest_first(self) -> None:
        store = own_store()
        for number in range(25):
            store.put(("many", str(number % 2)), f"k{number}", {"n": number})
        self.assertEqual(len(store.search(("many", "0"), limit=50)), 13)
        pages = [[item.value["n"] for item in store.search(("many",), limit=10, offset=at)] for at in (0, 10, 20)]
        self.assertEqual(sum(pages, []), list(range(24, -1, -1)))

    def test_batch(self) -> None:
        store = own_store()
        store.put(("b",), "k", {"v": 1})
        ops: list[Op] = [GetOp(("b",), "k"), PutOp(("b",), "k", {"v": 2}), PutOp(("b",), "k", {"v": 3}), SearchOp(("b",))]
        before, *_, found = store.batch(ops)
        assert isinstance(before, Item) and isinstance(found, list)
        self.assertEqual(before.value, {"v": 1})
        item = store.get(("b",), "k")
        assert item is not None
        self.assertEqual(item.value, {"v": 3})
        self.assertGreaterEqual(item.updated_at, before.updated_at)

    def test_awaited(self) -> None:
        async def steps() -> None:
            store = own_store()
            await store.aput(("async",), "k", {"v": "x"})
            await asyncio.gather(*(store.aput(("async",), f"k{number}", {"v": number}) for number in range(8)))
            item = await store.aget(("async",), "k")
            self.assertEqual(item and item.value, {"v": "x"})
            self.assertEqual(len(await store.asearch(("async",), limit=20)), 9)
            await store.adelete(("async",), "k")
            self.assertIsNone(await store.aget(("async",), "k"))

        asyncio.run(steps())

    def test_expiry(self) -> None:
        store = own_store()
        store.put(("t",), "k", {"v": "for good"})
        store.put(("t",), "k", {"v": "for an hour"}, ttl=60)
        [memory] = client.list_all(agent_id=store.agent_id, include_superseded=True)
        self.assertEqual(memory.data["value"], {"v": "for an hour"})
        store.client.update(memory.id, expires_at=memory.metadata["createdAt"] + 1_000_000)
        store.get(("t",), "k", refresh_ttl=False)
        self.assertLess(self.expiry(store), memory.metadata["createdAt"] + 1_000_001)
        store.get(("t",), "k")
        self.assertGreater(self.expiry(store), memory.metadata["createdAt"] + 3_500_000)
        store.put(("t",), "k", {"v": "gone"}, ttl=-1)
        self.assertIsNone(store.get(("t",), "k"))
        self.assertEqual(store.search(("t",)), [])

    def expiry(self, store: MunimentStore) -> float:
        [memory] = store.client.list_all(agent_id=store.agent_id)
        return float(memory.metadata["expiresAt"])

    def test_two_stores_do_not_see_each_other(self) -> None:
        store, other = own_store(), own_store()
        store.put(("n",), "k", {"v": 1})
        self.assertIsNone(other.get(("n",), "k"))
        self.assertEqual(other.list_namespaces(), [])

    def test_a_namespace_that_is_too_long_is_refused(self) -> None:
        with self.assertRaises(InvalidNamespaceError):
            own_store().put(("n" * 129,), "k", {"v": 1})

    def test_labels_that_would_name_another_namespace_are_refused(self) -> None:
        store = own_store()
        store.put(("foo", "bar"), "k", {"v": 1})
        conditions = (MatchCondition("prefix", ("foo.bar",)),)
        refused: list[Op] = [GetOp(("foo.bar",), "k"), PutOp(("foo", ""), "k", None), SearchOp(("foo.bar",))]
        for op in [*refused, ListNamespacesOp(conditions)]:
            with self.assertRaises(InvalidNamespaceError):
                store.batch([PutOp(("fine",), "k", {"v": 1}), op])
        self.assertEqual([item.namespace for item in store.search(())], [("foo", "bar")])

    def test_filters_by_paths(self) -> None:
        store = own_store()
        store.put(("a",), "path", {"user": {"home-town": "Lisbon"}})
        store.put(("a",), "name", {"user.home-town": "Porto"})
        for town, key in [("Lisbon", "path"), ("Porto", "name")]:
            self.assertEqual([item.key for item in store.search(("a",), filter={"user.home-town": town})], [key])
        self.assertEqual(store.search(("a",), filter={"user.home-town.x": {"$gt": 1}}), [])

    def test_more_namespaces_than_a_call_has_queries(self) -> None:
        store = own_store()
        for user in range(12):
            store.put(("people", f"{user:02}"), "k", {"text": f"person {user}"})
        found = store.search(("people",), query="person", limit=50)
        self.assertEqual(len({item.namespace for item in found}), 12)
        self.assertEqual(len(store.list_namespaces(prefix=("people",), limit=5, offset=10)), 2)


if __name__ == "__main__":
    unittest.main()
