/** Threads: the messages of one, and beside each what was made of it; and the reader, tried on a text. */
import { useState } from "preact/hooks"
import { change, parameters } from "../service/route.ts"
import { countOfMemories } from "../service/text.ts"
import { Notice } from "../ui/Notice.tsx"
import { ValueList } from "../ui/ValueList.tsx"
import { ReaderTrial } from "./ReaderTrial.tsx"
import { Thread } from "./Thread.tsx"

export const Conversations = () => {
  const given = parameters.value
  const threadId = given.get("threadId") ?? undefined
  const [round, setRound] = useState(0)
  const [outcome, tell] = useState("")
  return (
    <>
      <div class="head">
        <h2>Conversations</h2>
        <div class="actions">
          {threadId !== undefined && (
            <button type="button" onClick={() => change({ threadId: "" })}>
              Try the reader
            </button>
          )}
        </div>
      </div>
      {outcome !== "" && <Notice tone="good">{outcome}</Notice>}
      <div class={`pages ${threadId === undefined ? "" : "chosen"}`}>
        <ValueList
          facet="threads"
          noun="thread"
          contains={given.get("contains") ?? ""}
          order={given.get("order") ?? ""}
          current={threadId}
          round={round}
          onChange={change}
          onChoose={(value) => change({ threadId: value })}
        />
        {threadId === undefined ? (
          <ReaderTrial />
        ) : (
          <Thread
            key={threadId}
            threadId={threadId}
            onClose={() => change({ threadId: "" })}
            onErased={(memories) => {
              tell(`${countOfMemories(memories)} of the thread ${threadId} ${memories === 1 ? "is" : "are"} erased.`)
              change({ threadId: "" })
              setRound((value) => value + 1)
            }}
          />
        )}
      </div>
    </>
  )
}
