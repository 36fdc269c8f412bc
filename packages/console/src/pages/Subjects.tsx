/** People and things that memories are about: everything known of one, by time; export; erase after a dry run. */
import { useState } from "preact/hooks"
import { change, parameters } from "../service/route.ts"
import { otherAccounts } from "../service/session.ts"
import { countOfMemories } from "../service/words.ts"
import { Empty, Notice } from "../ui/Notice.tsx"
import { useHasNone, ValueList } from "../ui/ValueList.tsx"
import { Subject } from "./Subject.tsx"

export const Subjects = () => {
  const given = parameters.value
  const subjectId = given.get("subjectId") ?? undefined
  const [round, setRound] = useState(0)
  const [outcome, tell] = useState("")
  const isEmpty = useHasNone("subjects", round) && subjectId === undefined
  return (
    <>
      <div class="head">
        <h2>Subjects</h2>
      </div>
      {outcome !== "" && <Notice tone="good">{outcome}</Notice>}
      {isEmpty ? (
        <section class="card">
          <Empty title="No subjects yet">
            <p>
              No memory of this account names a subject yet: give a <code>subjectId</code>, such as the id of a user,
              with the memories that you store. {otherAccounts()}
            </p>
          </Empty>
        </section>
      ) : (
        <div class={`pages ${subjectId === undefined ? "" : "chosen"}`}>
          <ValueList
            facet="subjects"
            noun="subject"
            contains={given.get("contains") ?? ""}
            order={given.get("order") ?? ""}
            current={subjectId}
            round={round}
            onChange={change}
            onChoose={(value) => change({ subjectId: value })}
          />
          {subjectId === undefined ? (
            <section class="card">
              <Empty title="Choose a subject">
                <p>Its page shows everything that is known about it, and exports or erases it.</p>
              </Empty>
            </section>
          ) : (
            <Subject
              key={subjectId}
              subjectId={subjectId}
              onClose={() => change({ subjectId: "" })}
              onErased={(memories) => {
                tell(`${countOfMemories(memories)} about ${subjectId} ${memories === 1 ? "is" : "are"} erased.`)
                change({ subjectId: "" })
                setRound((value) => value + 1)
              }}
            />
          )}
        </div>
      )}
    </>
  )
}
