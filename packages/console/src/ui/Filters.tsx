/** The filters of a page. In a narrow window they are behind a button that says how many are set, so that what was found
 * stands first. */
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { parameters, change } from "../service/route.ts"
import { count } from "../service/words.ts"
import { Icon } from "./Icon.tsx"
import { Field } from "./Field.tsx"

export const Filters = (given: {
  /** Names of the parameters that they set. */
  readonly names: ReadonlyArray<string>
  /** Buttons beside them, which stay in view. */
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}) => {
  const [isOpen, setOpen] = useState(false)
  const set = given.names.filter((name) => (parameters.value.get(name) ?? "") !== "").length
  return (
    <section class={given.actions === undefined ? "filters" : "filters with-actions"} aria-label="Filters">
      <button type="button" class="filters-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="filter" /> Filters{set > 0 && `, ${count(set)} set`}
      </button>
      <div class={isOpen ? "facets open" : "facets"}>{given.children}</div>
      {given.actions !== undefined && <div class="actions">{given.actions}</div>}
    </section>
  )
}

export const givenPeriod = () => ({
  from: parameters.value.get("from") ?? undefined,
  to: parameters.value.get("to") ?? undefined
})

/** The first and the last day of a period, as the address has them. */
export const PeriodFields = () => {
  const { from, to } = givenPeriod()
  return (
    <>
      <Field label="From" type="date" value={from ?? ""} onValue={(day) => change({ from: day })} />
      <Field label="To" type="date" value={to ?? ""} onValue={(day) => change({ to: day })} />
    </>
  )
}
