"""Many calls at once with the client that is awaited.

    MUNIMENT_API_KEY=mun_... python together.py
"""

import asyncio

from muniment import AsyncMuniment, NewMemory

FACTS = {"Alice": "Alice lives in Seattle", "Bob": "Bob bakes bread in Oslo", "Carol": "Carol sails on Sundays"}


async def main() -> None:
    async with AsyncMuniment() as memory:
        stored = (
            memory.create(
                agent_id="assistant",
                memories=[NewMemory("factual_memory", {"subject": subject, "fact": fact})],
                on_duplicate="return",
                wait="vectors",
            )
            for subject, fact in FACTS.items()
        )
        await asyncio.gather(*stored)
        found = await memory.search(query="Who makes bread?", agent_id="assistant", kind="factual_memory", limit=1)
        print(found.memories[0].data["fact"])


if __name__ == "__main__":
    asyncio.run(main())
