/**
 * Saved filters of lists, kept by name in this browser for whoever is signed in. The address has their values and the name,
 * so a link carries both, and whoever opens it may save them too.
 */
import { effect, signal } from "@preact/signals"
import { parsed } from "./json.ts"
import { change, parameters } from "./route.ts"
import { session } from "./session.ts"

type Values = Readonly<Record<string, string>>

interface SavedFilter {
  /** Page and names of its filters. */
  readonly place: string
  readonly name: string
  readonly values: Values
}

/** Parameter of the address. */
const nameParameter = "filter"
const savedMax = 100

const storageKey = (): string => `muniment.filters.${session.value?.operator?.name ?? session.value?.account ?? ""}`

const all = signal<ReadonlyArray<SavedFilter>>([])
effect(() => {
  const kept = parsed(localStorage.getItem(storageKey()) ?? "[]")
  all.value = Array.isArray(kept) ? (kept as ReadonlyArray<SavedFilter>) : []
})

const keep = (next: ReadonlyArray<SavedFilter>): void => {
  // A full store of the browser refuses; the list stays as it was.
  localStorage.setItem(storageKey(), JSON.stringify(next))
  all.value = next
}

export const savedFilters = (place: string): ReadonlyArray<SavedFilter> =>
  all.value.filter((saved) => saved.place === place)

/** What the address sets of these filters. */
export const setValues = (names: ReadonlyArray<string>): Values =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = parameters.value.get(name) ?? ""
      return value === "" ? [] : [[name, value]]
    })
  )

export const chosenFilter = (): string => parameters.value.get(nameParameter) ?? ""

/** In place of one with the same name; the oldest makes room. */
export const saveFilter = (saved: SavedFilter): void => {
  const others = all.value.filter(({ name, place }) => name !== saved.name || place !== saved.place)
  keep([...others.slice(1 - savedMax), saved])
  change({ [nameParameter]: saved.name })
}

export const forgetFilter = (place: string, forgotten: string): void => {
  keep(all.value.filter(({ name, place: other }) => name !== forgotten || other !== place))
  change({ [nameParameter]: "" })
}

/** Sets these filters and no other. */
export const applyFilter = (names: ReadonlyArray<string>, name: string, values: Values): void =>
  change({ ...Object.fromEntries(names.map((each) => [each, ""])), ...values, [nameParameter]: name })
