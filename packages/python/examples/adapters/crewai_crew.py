"""A crew of one with a model behind any address that speaks OpenAI's language; it remembers across runs.

    MUNIMENT_API_KEY=mun_... MODEL_URL=http://127.0.0.1:11434/v1 MODEL=llama3.2 python crewai_crew.py "I live in Lisbon"
"""

import os
import sys

from crewai import LLM, Agent, Crew, Task
from muniment.adapters.crewai import MunimentMemory


def main() -> None:
    model = LLM(
        model=f"openai/{os.environ.get('MODEL', 'llama3.2')}",
        base_url=os.environ["MODEL_URL"],
        api_key=os.environ.get("MODEL_KEY", "unused"),
    )
    assistant = Agent(role="Assistant", goal="Answer the user", backstory="You are short and exact.", llm=model)
    for said in sys.argv[1:]:
        task = Task(description=said, expected_output="An answer to the user", agent=assistant)
        crew = Crew(agents=[assistant], tasks=[task], memory=MunimentMemory(llm=model))
        print(crew.kickoff())


if __name__ == "__main__":
    main()
