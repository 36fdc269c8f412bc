"""A chat history of LangChain and a retriever over it: statements are remembered, questions find them in every thread.

    MUNIMENT_API_KEY=mun_... python langchain_recall.py thread-1 "I like green tea" "Which tea do I like?"
"""

import sys

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from muniment.adapters.langchain import MunimentChatMessageHistory, MunimentRetriever


def quoted(documents: list[Document]) -> str:
    return documents[0].page_content if documents else "nothing yet"


def main() -> None:
    thread, *lines = sys.argv[1:]
    history = MunimentChatMessageHistory(thread)
    chain = MunimentRetriever(agent_id=history.agent_id, k=1) | RunnableLambda(quoted)
    for said in lines:
        if said.endswith("?"):
            print(chain.invoke(said))
        else:
            history.add_user_message(said)
    print(f"{len(history.messages)} messages in {thread}")


if __name__ == "__main__":
    main()
