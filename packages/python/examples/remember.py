"""An agent that remembers across runs: what was said is stored, what matters is found again. Run it twice.

    MUNIMENT_API_KEY=mun_... python remember.py "I live in Lisbon" "Where do I live?"
"""

import sys

from muniment import Message, Muniment


def main() -> None:
    with Muniment() as memory:
        for text in sys.argv[1:]:
            found = memory.search(query=text, agent_id="assistant", subject_id="me", limit=3)
            for hit in found.memories:
                print("remembered:", hit.data)
            memory.create(
                agent_id="assistant",
                subject_id="me",
                thread_id="terminal",
                conversation=[Message(role="user", content=text)],
                wait="vectors",
            )
            print("said:", text)


if __name__ == "__main__":
    main()
