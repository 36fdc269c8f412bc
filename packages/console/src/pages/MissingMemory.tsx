/** Chooses the memory that a question should have found, by words of its own, without leaving the question. */
import { useState } from "preact/hooks"
import { searched } from "../service/knowledge.ts"
import { useLoad } from "../service/load.ts"
import { type Found, systemText } from "../service/memories.ts"
import { change } from "../service/route.ts"
import { summary } from "../service/words.ts"
import { Field } from "../ui/Field.tsx"
import { Show } from "../ui/Notice.tsx"

const offeredMax = 8

export const MissingMemory = () => {
  const [words, setWords] = useState("")
  return (
    <details class="missing">
      <summary>Is one missing?</summary>
      <div class="stack">
        <Field
          label="Words that it has"
          value={words}
          placeholder="invoice wrong address"
          onValue={(text) => setWords(text.trim())}
        />
        {words !== "" && <Offered key={words} words={words} />}
      </div>
    </details>
  )
}

const Offered = ({ words }: { readonly words: string }) => {
  const { loaded } = useLoad(
    (signal) => searched<Found>({ query: words, limit: offeredMax, scope: "own", minRelevance: 0 }, signal),
    [words]
  )
  return (
    <Show of={loaded}>
      {({ memories }) =>
        memories.length === 0 ? (
          <p class="muted">No memory of this account has these words.</p>
        ) : (
          <ul class="choices" aria-label="Memories with these words">
            {memories.map((memory) => (
              <li key={memory.id}>
                <button type="button" onClick={() => expect(memory.id)}>
                  <span class="what">{summary(memory.data)}</span>
                  <span class="small muted">
                    {memory.kind}
                    {systemText(memory, "agentId") !== undefined && `, known to ${systemText(memory, "agentId")}`}
                  </span>
                </button>
              </li>
            ))}
          </ul>
        )
      }
    </Show>
  )
}

/** The reasons stand above the hits. */
const expect = (id: string): void => {
  change({ expected: id })
  scrollTo(0, 0)
}
