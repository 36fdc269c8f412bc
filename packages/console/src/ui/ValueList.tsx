/** Values of a facet to choose from: a search over them, how many memories each has, how new these are. */
import { useLoad } from "../service/load.ts"
import { facetsOf } from "../service/knowledge.ts"
import { ago } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Choice, Field } from "./Field.tsx"
import { Show } from "./Notice.tsx"

const shownMax = 200

type ListedFacet = "subjects" | "threads"

/** Whether no memory of the account has a value of the facet; false until it is known. Asks anew with each `round`. */
export const useHasNone = (facet: ListedFacet, round: number): boolean =>
  useLoad((signal) => facetsOf(facet, { limit: 1 }, signal), [round]).loaded.value?.total === 0

export const ValueList = (given: {
  readonly facet: ListedFacet
  /** One of them, in words: `thread`. */
  readonly noun: string
  readonly contains: string
  readonly order: string
  readonly current: string | undefined
  /** Asks anew when it changes. */
  readonly round: number
  readonly onChange: (change: { readonly contains?: string; readonly order?: string }) => void
  readonly onChoose: (value: string) => void
}) => {
  const order = given.order === "memories" || given.order === "name" ? given.order : "newest"
  const { loaded } = useLoad(
    (signal) => facetsOf(given.facet, { contains: given.contains, order, limit: shownMax }, signal),
    [given.contains, order, given.round]
  )
  return (
    <section class="stack values" aria-label={`All ${given.noun}s`}>
      <div class="pair">
        <Field
          label={`Find a ${given.noun}`}
          value={given.contains}
          onValue={(contains) => given.onChange({ contains })}
        />
        <Choice
          label="Order"
          value={order}
          options={[
            ["newest", "newest first"],
            ["memories", "most memories"],
            ["name", "by name"]
          ]}
          onValue={(value) => given.onChange({ order: value === "newest" ? "" : value })}
        />
      </div>
      <Show of={loaded}>
        {({ isExact, total, values }) =>
          values.length === 0 ? (
            <p class="muted">
              {given.contains === "" ? `No ${given.noun} yet.` : `No ${given.noun} has this text in its name.`}
            </p>
          ) : (
            <>
              <p class="small muted">
                {isExact ? "" : "at least "}
                {count(total)} {total === 1 ? given.noun : `${given.noun}s`}
                {total > values.length && `, the first ${values.length} are shown`}
              </p>
              <ul class="choices">
                {values.map(({ memories, newestAt, value }) => (
                  <li key={value}>
                    <button type="button" aria-current={value === given.current} onClick={() => given.onChoose(value)}>
                      <span class="what">{value}</span>
                      <span class="small muted number">{count(memories)}</span>
                      <span class="small muted">{ago(newestAt)}</span>
                    </button>
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </Show>
    </section>
  )
}
