"""The memory for LlamaIndex beside its own buffer: the same calls, the same messages; what is recalled; and the block
in LlamaIndex's `Memory`.
"""

import asyncio
import unittest
import uuid
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer, Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from muniment import Muniment, NewMemory
from muniment.adapters.llamaindex import MunimentMemory, MunimentMemoryBlock

MESSAGES = [
    ChatMessage(role="system", content="Be short."),
    ChatMessage(role="user", content="My cat is called Mimi. 😀", additional_kwargs={"name": "ann"}),
    ChatMessage(
        role="assistant",
        blocks=[ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs={"big": 12345678901234567890})],
    ),
    ChatMessage(role="tool", content="é" * 70_000, additional_kwargs={"tool_call_id": "c1"}),
    ChatMessage(role="assistant", blocks=[TextBlock(text="What a nice name"), TextBlock(text=" for a cat!")]),
    ChatMessage(role="user", blocks=[ImageBlock(image=b"\x89PNG\x00", image_mimetype="image/png")]),
    ChatMessage(role="user", content="\x01" * 30_000),
]

client = Muniment()


def tearDownModule() -> None:
    client.close()


def stored(messages: list[ChatMessage]) -> list[dict[str, Any]]:
    return [message.model_dump(mode="json") for message in messages]


class MemoryOfSessions(unittest.TestCase):
    def setUp(self) -> None:
        self.agent_id = f"llamaindex-{uuid.uuid4().hex}"

    def memory(self, session: str, **fields: Any) -> MunimentMemory:
        return MunimentMemory.from_defaults(client=client, agent_id=self.agent_id, session_id=session, **fields)

    def remember(self, subject: str, *facts: str) -> None:
        memories = [NewMemory("factual_memory", {"subject": subject, "fact": fact}) for fact in facts]
        client.create(agent_id=self.agent_id, subject_id=subject, memories=memories, wait="vectors")

    def test_the_same_as_the_frameworks_own(self) -> None:
        both: list[BaseMemory] = [
            self.memory("t", context_tokens=0, messages_max=1_000),
            ChatMemoryBuffer.from_defaults(token_limit=10_000_000),
        ]

        def compare() -> None:
            ours, theirs = both
            self.assertEqual(stored(ours.get_all()), stored(theirs.get_all()))
            self.assertEqual(stored(ours.get()), stored(theirs.get()))

        compare()
        for memory in both:
            memory.put_messages(MESSAGES)
        compare()
        for memory in both:
            memory.put_messages([])
            memory.put(MESSAGES[3])
            memory.put_messages([ChatMessage(role="user", content=f"message {number}") for number in range(130)])
        compare()
        for memory in both:
            memory.set(memory.get_all()[-3:])
        compare()
        for memory in both:
            memory.reset()
        compare()
        self.assertEqual(self.memory("another").get_all(), [])

    def test_awaited(self) -> None:
        async def steps() -> None:
            memory = self.memory("async")
            await memory.aput(MESSAGES[1])
            await memory.aput_messages(MESSAGES[2:3])
            self.assertEqual(stored(await memory.aget_all()), stored(MESSAGES[1:3]))
            await memory.areset()
            self.assertEqual(await memory.aget(), [])

        asyncio.run(steps())

    def test_recalls_what_other_sessions_know_of_the_subject(self) -> None:
        self.remember("ann", "Ann has a cup of green tea every morning", "Ann moved to Lisbon")
        self.remember("bob", "Bob prefers espresso")
        memory = self.memory("t", subject_id="ann")
        memory.put(ChatMessage(role="user", content="Which beverage do I like?"))
        recalled, said = memory.get()
        self.assertEqual(recalled.role, MessageRole.SYSTEM)
        self.assertIn("Ann has a cup of green tea every morning", recalled.content or "")
        self.assertEqual(said.content, "Which beverage do I like?")
        self.assertIn("Lisbon", memory.get(input="the city she lives in")[0].content or "")
        self.assertIn("Lisbon", memory.get(input=ChatMessage(content="the city she lives in"))[0].content or "")

    def test_does_not_repeat_what_the_session_holds(self) -> None:
        memory = self.memory("t", subject_id="ann")
        memory.put_messages([ChatMessage(role="user", content=f"My cat Mimi is {age} years old") for age in range(9)])
        self.assertEqual(len(memory.get()), 9)
        self.remember("ann", "Mimi is a tabby cat")
        self.assertIn("Mimi is a tabby cat", memory.get()[0].content or "")

    def test_gives_the_newest_messages_from_one_of_the_user_on(self) -> None:
        memory = self.memory("t", context_tokens=0, messages_max=4)
        memory.put_messages(MESSAGES)
        self.assertEqual(stored(memory.get()), stored(MESSAGES[-2:]))
        self.assertEqual(len(memory.get_all()), len(MESSAGES))


class Block(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.agent_id = f"llamaindex-{uuid.uuid4().hex}"

    def memory(self, session: str) -> Memory:
        block = MunimentMemoryBlock(client=client, agent_id=self.agent_id)
        return Memory.from_defaults(session_id=session, token_limit=60, token_flush_size=1, memory_blocks=[block])

    async def test_keeps_what_short_term_memory_puts_out(self) -> None:
        memory = self.memory("one")
        for said in ["I have a cup of green tea every morning", "The weather was fine on all of the days of our long journey"]:
            await memory.aput(ChatMessage(role="user", content=said))
            await memory.aput(ChatMessage(role="assistant", content="I see, thank you for telling me about all of that!"))
        kept = await memory.aget_all(MessageStatus.ACTIVE)
        self.assertNotIn("green tea", str(kept))
        in_thread = client.list(agent_id=self.agent_id, thread_id="one", order="asc").memories
        self.assertEqual(in_thread[0].data["text"], "I have a cup of green tea every morning")

        another = self.memory("two")
        await another.aput(ChatMessage(role="user", content="Which beverage do I like?"))
        [system, _] = await another.aget()
        self.assertEqual(system.role, MessageRole.SYSTEM)
        self.assertIn("I have a cup of green tea every morning", system.content or "")


if __name__ == "__main__":
    unittest.main()
