/** The filters of a page. In a narrow window they are behind a button that says how many are set, so that what was found
 * stands first. */
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { parameters } from "../service/route.ts"
import { count } from "../service/words.ts"
import { Icon } from "./Icon.tsx"

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
