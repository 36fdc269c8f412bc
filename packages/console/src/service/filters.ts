/**
 * Saved filters of lists, kept by name in this browser for whoever is signed in. The address has their values and the name,
 * so a link carries both, and whoever opens it may save them too.
 */
import { effect, signal } from "@preact/signals"
import { parsed } from "./json.ts"
import { change, parameters } from "./route.ts"
import { session } from "./session.ts"
import { offered } from "./undo.ts"

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

/** All as they are now, to be kept again. */
const offerSaved = (text: string): void => {
  const earlier = all.value
  offered.value = { text, takeBack: async () => keep(earlier) }
}

const isOf =
  (of: Pick<SavedFilter, "name" | "place">) =>
  ({ name, place }: SavedFilter): boolean =>
    name === of.name && place === of.place

/** In place of one with the same name; the oldest makes room. */
export const saveFilter = (saved: SavedFilter): void => {
  if (all.value.some(isOf(saved))) offerSaved(`The saved filter “${saved.name}” is changed.`)
  keep([...all.value.filter((one) => !isOf(saved)(one)).slice(1 - savedMax), saved])
  change({ [nameParameter]: saved.name })
}

export const forgetFilter = (place: string, name: string): void => {
  offerSaved(`The saved filter “${name}” is deleted.`)
  keep(all.value.filter((one) => !isOf({ place, name })(one)))
  change({ [nameParameter]: "" })
}

/** Sets these filters and no other. */
export const applyFilter = (names: ReadonlyArray<string>, name: string, values: Values): void =>
  change({ ...Object.fromEntries(names.map((each) => [each, ""])), ...values, [nameParameter]: name })
