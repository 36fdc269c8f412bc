"""An agent of the OpenAI Agents SDK whose history is kept by the service: run it twice, and it knows what you said.

    MUNIMENT_API_KEY=mun_... OPENAI_API_KEY=... python openai_agents_session.py thread-1 "My name is Ann"
"""

import asyncio
import os
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from muniment.adapters.openai_agents import MunimentSession
from openai import AsyncOpenAI


async def main() -> None:
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel(os.environ.get("MODEL", "gpt-5-mini"), AsyncOpenAI())
    agent = Agent(name="Assistant", instructions="Answer in one sentence.", model=model)
    session = MunimentSession(sys.argv[1])
    for said in sys.argv[2:]:
        result = await Runner.run(agent, said, session=session)
        print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
