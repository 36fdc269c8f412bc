"""The session for the OpenAI Agents SDK beside the SDK's own session over SQLite: the same calls, the same items."""

import asyncio
import unittest
import uuid
from typing import Any, cast

from agents import Session, SessionSettings, SQLiteSession, TResponseInputItem
from muniment import AsyncMuniment
from muniment.adapters.openai_agents import MunimentSession

ITEMS = cast(
    "list[TResponseInputItem]",
    [
        {"role": "user", "content": "My cat is called Mimi. \ud83d\ude00 1.0 is a float"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Oslo", "big": 12345678901234567890}'},
        {"type": "function_call_output", "call_id": "c1", "output": "é" * 70_000},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "What a nice name for a cat!", "annotations": [], "logprobs": [1.0]}],
        },
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:,", "detail": "auto"}]},
        {"role": "user", "content": "\x01" * 30_000},
    ],
)


class SessionOfAgents(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = AsyncMuniment()
        self.agent_id = f"agents-{uuid.uuid4().hex}"

    async def asyncTearDown(self) -> None:
        await self.client.close()

    def session(self, name: str, **options: Any) -> MunimentSession:
        return MunimentSession(name, self.client, agent_id=self.agent_id, **options)

    async def test_the_same_as_the_frameworks_own(self) -> None:
        ours, theirs = self.session("t"), SQLiteSession("t")
        self.assertIsInstance(ours, Session)
        sessions: list[Session] = [ours, theirs]

        async def both(action: Any) -> None:
            first, second = [await action(session) for session in sessions]
            self.assertEqual(first, second)

        await both(lambda session: session.get_items())
        await both(lambda session: session.pop_item())
        await both(lambda session: session.add_items(ITEMS))
        await both(lambda session: session.add_items([]))
        await both(lambda session: session.get_items())
        for limit in (0, 1, 3, 4, 100):
            await both(lambda session: session.get_items(limit))
        for _ in range(5):
            await both(lambda session: session.pop_item())
        await both(lambda session: session.add_items(ITEMS[:1] * 130))
        await both(lambda session: session.get_items())
        await both(lambda session: session.clear_session())
        await both(lambda session: session.get_items())
        await both(lambda session: session.add_items(ITEMS[2:4]))
        await both(lambda session: session.get_items())

    async def test_a_run_of_any_length(self) -> None:
        session = self.session("long")
        items = cast("list[TResponseInputItem]", [{"role": "user", "content": "我" * 4_000} for _ in range(60)])
        await session.add_items(items)
        self.assertEqual(await session.get_items(), items)

    async def test_settings_limit_what_is_read(self) -> None:
        session = self.session("limited", session_settings=SessionSettings(limit=2))
        await session.add_items(ITEMS[:4])
        self.assertEqual(await session.get_items(), ITEMS[2:4])
        self.assertEqual(len(await session.get_items(3)), 3)

    async def test_each_item_is_popped_once(self) -> None:
        session = self.session("popped")
        numbered = cast("list[TResponseInputItem]", [{"role": "user", "content": f"message {n}"} for n in range(6)])
        await session.add_items(numbered)
        popped = await asyncio.gather(*(session.pop_item() for _ in range(6)))
        self.assertEqual(sorted(map(str, popped)), sorted(map(str, numbered)))
        self.assertIsNone(await session.pop_item())

    async def test_what_was_said_is_found_by_other_sessions(self) -> None:
        await self.session("first").add_items(ITEMS)
        await self.session("other").add_items(ITEMS[4:5])
        found = await self.client.search(
            query="my cat is called", agent_id=self.agent_id, kind="conversation_message", limit=1
        )
        self.assertIn("Mimi", found.memories[0].data["text"])
        self.assertEqual(len(await self.session("other").get_items()), 1)


if __name__ == "__main__":
    unittest.main()
