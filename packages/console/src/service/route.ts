/** The page and its parameters, as they stand behind `#/` in the address: links work, and Back goes back. */
import { computed, signal } from "@preact/signals"

const read = (): string => location.hash.replace(/^#\/?/, "")

const hash = signal(read())
addEventListener("hashchange", () => (hash.value = read()))

export const page = computed(() => hash.value.split("?", 1)[0] || "overview")
export const parameters = computed(() => new URLSearchParams(hash.value.split("?")[1] ?? ""))

export type Parameters = Readonly<Record<string, string | undefined>>

export const linkTo = (name: string, given: Parameters = {}): string => {
  const pairs = Object.entries(given).flatMap(([key, value]) =>
    value === undefined || value === "" ? [] : [[key, value]]
  )
  return pairs.length === 0 ? `#/${name}` : `#/${name}?${new URLSearchParams(pairs)}`
}

export const go = (name: string, given: Parameters = {}): void => {
  location.hash = linkTo(name, given)
}

/** Changes some parameters of this page, without a step back to the old ones. */
export const change = (given: Parameters): void => {
  const merged = { ...Object.fromEntries(parameters.value), ...given }
  history.replaceState(null, "", linkTo(page.value, merged))
  hash.value = read()
}
