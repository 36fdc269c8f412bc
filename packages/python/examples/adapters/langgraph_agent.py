"""A graph of LangGraph whose long-term memory is the service. Run it twice: it remembers across runs and threads.

    MUNIMENT_API_KEY=mun_... python langgraph_agent.py ann "I like green tea" "What does Ann drink?"
"""

import sys
from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from muniment.adapters.langgraph import MunimentStore


class State(TypedDict):
    user: str
    said: str
    remembered: str


def remember(state: State, runtime: Runtime[None]) -> State:
    store = runtime.store
    if store is None:
        raise RuntimeError("compile the graph with a store")
    found = store.search(("users", state["user"]), query=state["said"], limit=1)
    store.put(("users", state["user"]), state["said"], {"text": state["said"]})
    return {**state, "remembered": found[0].value["text"] if found else "nothing yet"}


def main() -> None:
    graph = StateGraph(State)
    graph.add_node("remember", remember)
    graph.add_edge(START, "remember")
    agent = graph.compile(store=MunimentStore())
    user, *lines = sys.argv[1:]
    for said in lines:
        print(agent.invoke({"user": user, "said": said, "remembered": ""})["remembered"])


if __name__ == "__main__":
    main()
