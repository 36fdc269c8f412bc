/**
 * Saved filters of lists, kept by name in this browser for whoever is signed in. The address has their values and the name,
 * so a link carries both, and whoever opens it may save them too.
 */
import { effect, signal } from "@preact/signals"
import { parsed } from "./json.ts"
import { change, parameters } from "./route.ts"
import { session } from "./session.ts"
import { erasedSubject, offered } from "./undo.ts"

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

/** As this browser has them now: another tab may have changed them. */
const kept = (): ReadonlyArray<SavedFilter> => {
  const list = parsed(localStorage.getItem(storageKey()) ?? "[]")
  return Array.isArray(list) ? (list as ReadonlyArray<SavedFilter>) : []
}

const all = signal<ReadonlyArray<SavedFilter>>([])
const readAgain = (): void => {
  all.value = kept()
}
effect(readAgain)
addEventListener("storage", readAgain)

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

const isOf =
  (of: Pick<SavedFilter, "name" | "place">) =>
  ({ name, place }: SavedFilter): boolean =>
    name === of.name && place === of.place

/**
 * Puts it in place of the one with this name, as the last; the oldest makes room. `saved` undefined: there is none then.
 * A full store of the browser refuses, and the list stays as it was.
 *
 * What it was before; undefined: there was none.
 */
const put = (of: Pick<SavedFilter, "name" | "place">, saved: SavedFilter | undefined): SavedFilter | undefined => {
  const list = kept()
  const others = list.filter((one) => !isOf(of)(one))
  const next = saved === undefined ? others : [...others.slice(1 - savedMax), saved]
  localStorage.setItem(storageKey(), JSON.stringify(next))
  all.value = next
  return list.find(isOf(of))
}

/** What was kept before is offered once it is replaced: that one alone, as the others may have changed since. */
const replace = (of: Pick<SavedFilter, "name" | "place">, saved: SavedFilter | undefined): void => {
  const before = put(of, saved)
  if (before !== undefined) {
    const text = `The saved filter “${of.name}” is ${saved === undefined ? "deleted" : "changed"}.`
    offered.value = { text, takeBack: async () => void put(of, before) }
  }
  change({ [nameParameter]: saved?.name ?? "" })
}

export const saveFilter = (saved: SavedFilter): void => replace(saved, saved)

export const forgetFilter = (place: string, name: string): void => replace({ place, name }, undefined)

/** Sets these filters and no other. */
export const applyFilter = (names: ReadonlyArray<string>, name: string, values: Values): void =>
  change({ ...Object.fromEntries(names.map((each) => [each, ""])), ...values, [nameParameter]: name })

/** What is erased leaves no filter that names it. */
erasedSubject.subscribe((erased) => {
  const left = all.value.filter(({ values }) => erased === undefined || values["subjectId"] !== erased.subjectId)
  if (left.length === all.value.length) return
  localStorage.setItem(storageKey(), JSON.stringify(left))
  all.value = left
})
