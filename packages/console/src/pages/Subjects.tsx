/** People and things that memories are about: everything known of one, by time; export; erase after a dry run. */
import { useState } from "preact/hooks"
import { change, parameters } from "../service/route.ts"
import { countOfMemories } from "../service/text.ts"
import { Empty, Notice } from "../ui/Notice.tsx"
import { ValueList } from "../ui/ValueList.tsx"
import { Subject } from "./Subject.tsx"

export const Subjects = () => {
  const given = parameters.value
  const subjectId = given.get("subjectId") ?? undefined
  const [round, setRound] = useState(0)
  const [outcome, tell] = useState("")
  return (
    <>
      <div class="head">
        <h2>Subjects</h2>
      </div>
      {outcome !== "" && <Notice tone="good">{outcome}</Notice>}
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
    </>
  )
}
