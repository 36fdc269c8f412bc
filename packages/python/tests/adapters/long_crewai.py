"""The memory for CrewAI beside its own over LanceDB: the same calls, the same records and scopes; and what is recalled."""

import tempfile
import unittest
import uuid
from datetime import datetime, timedelta
from typing import Any

from crewai import LLM
from crewai.memory.storage.lancedb_storage import LanceDBStorage
from crewai.memory.unified_memory import Memory
from muniment import Muniment
from muniment.adapters.crewai import MunimentMemory, MunimentStorage

client = Muniment()

#: Asked for nothing where scope, categories, importance and metadata are given.
UNUSED = LLM(model="openai/unused", base_url="http://127.0.0.1:9", api_key="unused")


def tearDownModule() -> None:
    client.close()


def vectors(texts: list[str]) -> list[list[float]]:
    """Orthogonal for different texts, so that the framework's memory merges nothing."""
    return [[1.0 if at == sum(text.encode()) % 64 else 0.0 for at in range(64)] for text in texts]


RECORDS: list[dict[str, Any]] = [
    {"content": "The API allows 1000 requests a minute", "scope": "/project/alpha", "categories": ["limits"]},
    {"content": "Staging listens on port 8080", "scope": "/project/alpha/staging", "categories": ["ports", "hosts"]},
    {"content": "PostgreSQL was chosen", "scope": "/project/beta", "categories": ["decisions"], "importance": 0.9},
    {"content": "Alphabetic lists are shown", "scope": "/project/gamma", "categories": [], "metadata": {"by": "ann"}},
    {"content": "😀 The office is in Lisbon", "scope": "/", "categories": ["hosts"], "metadata": {"by": "joe", "n": 3}},
]


def remember(memory: Memory) -> None:
    for record in RECORDS:
        memory.remember(**{"importance": 0.5, "metadata": {}, "source": "test", **record})


def shown(memory: Memory, scope: str | None = None) -> list[tuple[Any, ...]]:
    return [
        (record.content, record.scope, record.categories, record.metadata, record.importance, record.source)
        for record in memory.list_records(scope)
    ]


class Beside(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.ours = MunimentMemory(storage=MunimentStorage(client, agent_id=f"crewai-{uuid.uuid4().hex}"))
        theirs = LanceDBStorage(path=folder.name, vector_dim=64)
        self.theirs = Memory(storage=theirs, embedder=vectors, llm=UNUSED)
        for memory in (self.ours, self.theirs):
            self.addCleanup(memory.close)
            remember(memory)

    def compare(self) -> None:
        for scope in (None, "/", "/project", "/project/alpha", "/project/alpha/staging", "/nowhere"):
            self.assertEqual(shown(self.ours, scope), shown(self.theirs, scope), scope)
            self.assertEqual(self.ours.list_scopes(scope), self.theirs.list_scopes(scope), scope)
            self.assertEqual(self.ours.list_categories(scope), self.theirs.list_categories(scope), scope)
            ours, theirs = self.ours.info(scope), self.theirs.info(scope)
            self.assertEqual(
                (ours.record_count, sorted(ours.categories), sorted(ours.child_scopes)),
                (theirs.record_count, sorted(theirs.categories), sorted(theirs.child_scopes)),
                scope,
            )

    def test_lists_records_scopes_and_categories(self) -> None:
        self.compare()
        self.assertEqual(len(self.ours.list_records(limit=2, offset=1)), 2)
        self.assertEqual(self.ours.tree(), self.theirs.tree())

    def test_forgets_what_meets_all_conditions(self) -> None:
        conditions: list[dict[str, Any]] = [
            {"older_than": datetime.utcnow() - timedelta(days=1)},
            {"categories": ["hosts"], "scope": "/project"},
            {"metadata_filter": {"by": "ann"}},
            {"older_than": datetime.utcnow() + timedelta(days=1)},
        ]
        for condition in conditions:
            self.assertEqual(self.ours.forget(**condition), self.theirs.forget(**condition), condition)
            self.compare()

    def test_forgets_a_scope_and_nothing_beside_it(self) -> None:
        """The framework's own store takes the records of `/` along."""
        self.assertEqual(self.ours.forget(scope="/project/alpha"), 2)
        self.assertEqual([record.scope for record in self.ours.list_records()], ["/", "/project/gamma", "/project/beta"])

    def test_changes_and_forgets_a_record_by_its_id(self) -> None:
        for memory in (self.ours, self.theirs):
            [record] = memory.list_records("/project/beta")
            memory.update(record.id, content="SQLite was chosen", scope="/project/alpha", categories=["databases"])
            [staging] = memory.list_records("/project/alpha/staging")
            self.assertEqual(memory.forget(record_ids=[staging.id]), 1)
        self.assertEqual(sorted(map(str, shown(self.ours))), sorted(map(str, shown(self.theirs))))
        self.assertIsNone(self.ours.storage.get_record("mem_unknown"))

    def test_resets_a_scope(self) -> None:
        for scope in ("/project/alpha", None):
            self.ours.reset(scope)
            self.theirs.reset(scope)
            self.compare()


class Recall(unittest.TestCase):
    def setUp(self) -> None:
        self.storage = MunimentStorage(client, agent_id=f"crewai-{uuid.uuid4().hex}", subject_id="ann")

    def memory(self, **fields: Any) -> MunimentMemory:
        memory = MunimentMemory(storage=self.storage, **fields)
        self.addCleanup(memory.close)
        return memory

    def found(self, memory: MunimentMemory, query: str, **fields: Any) -> list[str]:
        return [match.record.content for match in memory.recall(query, **fields)]

    def test_finds_nothing_before_anything_is_remembered(self) -> None:
        self.assertEqual(self.found(self.memory(), "Which port?"), [])

    def test_finds_by_meaning_in_scopes_and_categories(self) -> None:
        memory = self.memory(semantic_weight=1.0, recency_weight=0.0, importance_weight=0.0)
        remember(memory)
        self.assertEqual(self.found(memory, "In which city do we work?", limit=1), ["😀 The office is in Lisbon"])
        self.assertEqual(self.found(memory, "the database", scope="/project/beta"), ["PostgreSQL was chosen"])
        self.assertEqual(
            self.found(memory, "a port", scope="/project/alpha"),
            ["Staging listens on port 8080", "The API allows 1000 requests a minute"],
        )
        chosen = self.found(memory, "anything", categories=["limits", "decisions"])
        self.assertEqual(sorted(chosen), ["PostgreSQL was chosen", "The API allows 1000 requests a minute"])

    def test_waits_for_what_is_remembered_in_the_background(self) -> None:
        memory = self.memory(root_scope="/crew/one")
        memory.remember_many(["Ann drinks green tea", "Bob repairs bicycles"])
        self.assertEqual(self.found(memory, "her favourite beverage", limit=1), ["Ann drinks green tea"])
        self.assertEqual(self.memory(root_scope="/crew/two").recall("tea"), [])
        self.assertEqual([record.scope for record in memory.list_records()], ["/crew/one", "/crew/one"])

    def test_keeps_private_records_to_their_source(self) -> None:
        memory = self.memory()
        memory.remember("The code is 4711", source="joe", private=True)
        self.assertEqual(self.found(memory, "the code"), [])
        self.assertEqual(self.found(memory, "the code", source="joe"), ["The code is 4711"])
        self.assertEqual(self.found(memory, "the code", include_private=True), ["The code is 4711"])

    def test_reads_only_in_views_and_when_told_so(self) -> None:
        memory = self.memory()
        memory.scope("/team").remember("Meetings are on Monday")
        self.assertEqual([record.scope for record in memory.list_records()], ["/team"])
        self.assertEqual(memory.slice(["/team"]).recall("meetings")[0].record.content, "Meetings are on Monday")
        self.assertIsNone(self.memory(read_only=True).remember("Nothing"))
        self.assertEqual(len(memory.list_records()), 1)


if __name__ == "__main__":
    unittest.main()
