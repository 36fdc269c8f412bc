/** Threads: the messages of one, and beside each what was made of it; and the reader, tried on a text. */
import { useState } from "preact/hooks"
import { change, parameters } from "../service/route.ts"
import { otherAccounts } from "../service/session.ts"
import { countOfMemories } from "../service/words.ts"
import { Notice } from "../ui/Notice.tsx"
import { useHasNone, ValueList } from "../ui/ValueList.tsx"
import { ReaderTrial } from "./ReaderTrial.tsx"
import { Thread } from "./Thread.tsx"

export const Conversations = () => {
  const given = parameters.value
  const threadId = given.get("threadId") ?? undefined
  const [round, setRound] = useState(0)
  const [outcome, tell] = useState("")
  const isEmpty = useHasNone("threads", round) && threadId === undefined
  return (
    <>
      <div class="head">
        <h2>Conversations</h2>
        {threadId === undefined ? (
          <p class="small">{isEmpty ? "" : "Choose a thread to see what was made of its messages"}</p>
        ) : (
          <button type="button" onClick={() => change({ threadId: "" })}>
            Try the reader
          </button>
        )}
      </div>
      {outcome !== "" && <Notice tone="good">{outcome}</Notice>}
      {isEmpty && (
        <Notice>
          No memory of this account names a thread yet: send a <code>conversation</code> with a <code>threadId</code> to{" "}
          <code>POST /v1/memories</code>, or try below what would be made of one. {otherAccounts()}
        </Notice>
      )}
      <div class={isEmpty ? "stack" : `pages ${threadId === undefined ? "" : "chosen"}`}>
        {!isEmpty && (
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
        )}
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
