"""A chat with a model behind any address that speaks OpenAI's language; it remembers across sessions.

    MUNIMENT_API_KEY=mun_... MODEL_URL=http://127.0.0.1:11434/v1 MODEL=llama3.2 python llamaindex_memory.py thread-1 "I live in Lisbon"
"""

import os
import sys

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.llms.openai_like import OpenAILike  # type: ignore[import-untyped]
from muniment.adapters.llamaindex import MunimentMemory


def main() -> None:
    session, *lines = sys.argv[1:]
    model = OpenAILike(
        model=os.environ.get("MODEL", "llama3.2"),
        api_base=os.environ["MODEL_URL"],
        api_key=os.environ.get("MODEL_KEY", "unused"),
        is_chat_model=True,
    )
    engine = SimpleChatEngine.from_defaults(llm=model, memory=MunimentMemory(session_id=session, subject_id="me"))
    for said in lines:
        print(engine.chat(said).response)


if __name__ == "__main__":
    main()
