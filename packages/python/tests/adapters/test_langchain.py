"""The chat history for LangChain beside LangChain's own: the same calls, the same messages; and the retriever."""

import asyncio
import unittest
import uuid
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from muniment import Muniment, NewMemory
from muniment.adapters.langchain import MunimentChatMessageHistory, MunimentRetriever

MESSAGES: list[BaseMessage] = [
    SystemMessage("Be short."),
    HumanMessage("My cat is called Mimi. 😀", id="m1", name="ann"),
    AIMessage(
        "",
        tool_calls=[{"name": "weather", "args": {"city": "Oslo", "big": 12345678901234567890}, "id": "c1"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    ),
    ToolMessage("é" * 70_000, tool_call_id="c1", artifact={"degrees": 1.0}),
    AIMessage([{"type": "text", "text": "What a nice name for a cat!"}], response_metadata={"model": "m"}),
    HumanMessage([{"type": "image_url", "image_url": {"url": "data:,"}}]),
    HumanMessage("\x01" * 30_000),
]

client = Muniment()


def tearDownModule() -> None:
    client.close()


class ChatHistory(unittest.TestCase):
    def setUp(self) -> None:
        self.agent_id = f"langchain-{uuid.uuid4().hex}"

    def history(self, name: str) -> MunimentChatMessageHistory:
        return MunimentChatMessageHistory(name, client, agent_id=self.agent_id)

    def test_the_same_as_the_frameworks_own(self) -> None:
        both: list[BaseChatMessageHistory] = [self.history("t"), InMemoryChatMessageHistory()]

        def compare() -> None:
            ours, theirs = [history.messages for history in both]
            self.assertEqual(ours, theirs)

        compare()
        for history in both:
            history.add_messages(MESSAGES)
        compare()
        for history in both:
            history.add_messages([])
            history.add_message(MESSAGES[3])
            history.add_messages([HumanMessage(f"message {number}") for number in range(130)])
        compare()
        for history in both:
            history.messages = history.messages[-3:]
        compare()
        for history in both:
            history.clear()
        compare()
        for history in both:
            history.add_messages(MESSAGES[2:4])
        compare()
        self.assertEqual(self.history("another").messages, [])

    def test_awaited(self) -> None:
        async def steps() -> None:
            history = self.history("async")
            await history.aadd_messages(MESSAGES[:2])
            self.assertEqual(await history.aget_messages(), MESSAGES[:2])
            await history.aclear()
            self.assertEqual(await history.aget_messages(), [])

        asyncio.run(steps())

    def test_a_chain_with_history(self) -> None:
        def answer(messages: list[BaseMessage]) -> AIMessage:
            return AIMessage(" | ".join(message.text for message in messages))

        chain = RunnableWithMessageHistory(RunnableLambda(answer), self.history)
        config: Any = {"configurable": {"session_id": "chain"}}
        chain.invoke([HumanMessage("one")], config)
        self.assertEqual(chain.invoke([HumanMessage("two")], config).text, "one | one | two")
        self.assertEqual(len(self.history("chain").messages), 4)


class Retriever(unittest.TestCase):
    def setUp(self) -> None:
        self.agent_id = f"langchain-{uuid.uuid4().hex}"

    def retriever(self, **fields: Any) -> MunimentRetriever:
        return MunimentRetriever(client=client, agent_id=self.agent_id, **fields)

    def remember(self, subject: str, *facts: str) -> None:
        memories = [NewMemory("factual_memory", {"subject": subject, "fact": fact}) for fact in facts]
        client.create(agent_id=self.agent_id, subject_id=subject, memories=memories, wait="vectors")

    def test_finds_by_meaning(self) -> None:
        self.remember("ann", "Ann has a cup of green tea every morning", "Ann moved to Lisbon")
        self.remember("bob", "Bob prefers espresso")
        retriever = self.retriever(subject_id="ann")
        best, other = retriever.invoke("which beverage does she like?")
        self.assertEqual(best.page_content, "Ann has a cup of green tea every morning")
        self.assertEqual(other.page_content, "Ann moved to Lisbon")
        self.assertGreater(best.metadata["relevance"], other.metadata["relevance"])
        assert best.id is not None
        self.assertEqual(client.get(best.id).memory.data, best.metadata["data"])
        self.assertEqual(len(retriever.invoke("beverage", k=1)), 1)
        self.assertEqual(len(self.retriever(k=2).invoke("beverage")), 2)
        awaited = asyncio.run(self.retriever().ainvoke("espresso"))
        self.assertEqual(awaited[0].page_content, "Bob prefers espresso")

    def test_finds_what_was_said(self) -> None:
        history = MunimentChatMessageHistory("said", client, agent_id=self.agent_id, subject_id="ann")
        history.add_messages(MESSAGES)
        [found] = self.retriever(kind="conversation_message", k=1).invoke("my cat is called")
        self.assertIn("Mimi", found.page_content)
        self.assertEqual(found.metadata["data"], {"role": "user", "text": found.page_content})

    def test_questions_of_any_length(self) -> None:
        agent_id = f"langchain-{uuid.uuid4().hex}"
        stored = [NewMemory("factual_memory", {"subject": "Ann", "fact": "Ann lives in Lisbon"})]
        client.create(agent_id=agent_id, memories=stored, wait="vectors")
        retriever = MunimentRetriever(client=client, agent_id=agent_id)
        found = retriever.invoke("Where does Ann live? " + "Please say. " * 1_000)
        self.assertEqual([document.page_content for document in found], ["Ann lives in Lisbon"])
        for nothing in ("", " \n"):
            self.assertEqual(retriever.invoke(nothing), [])

    def test_other_kinds_are_shown_as_json(self) -> None:
        data = {"subject": "Ann", "preferenceType": "likes", "preference": "café"}
        client.create(agent_id=self.agent_id, memories=[NewMemory("preference_memory", data)], wait="vectors")
        [found] = self.retriever().invoke("café")
        self.assertIn('"preference": "café"', found.page_content)
        self.assertEqual(found.metadata["kind"], "preference_memory")


if __name__ == "__main__":
    unittest.main()
