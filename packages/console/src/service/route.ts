/**
 * The page, the account and the page's parameters, as they stand behind `#/` in the address: links work, Back goes back,
 * and what an operator looks at is the same for whoever gets the link.
 */
import { computed, effect, signal } from "@preact/signals"

const read = (): string => location.hash.replace(/^#\/?/, "")

const hash = signal(read())
const readAgain = (): void => {
  hash.value = read()
}
addEventListener("hashchange", readAgain)

/** Instead of one that no page has to know, such as of a one-time link. */
export const clearAddress = (): void => {
  history.replaceState(null, "", location.pathname)
  readAgain()
}

export const page = computed(() => hash.value.split("?", 1)[0] || "overview")
export const parameters = computed(() => new URLSearchParams(hash.value.split("?")[1] ?? ""))

export type Parameters = Readonly<Record<string, string | undefined>>

const accountKey = "muniment.account"

/** Name of the account whose memories an operator looks at: of the address, else the last one of this window. */
export const account = signal(sessionStorage.getItem(accountKey) ?? "")

/** Parameter of the address. */
const accountName = "in"

effect(() => {
  const named = parameters.value.get(accountName)
  if (named === null || named === "") return
  account.value = named
  sessionStorage.setItem(accountKey, named)
})

/** Memories of the account before are none of this one, nor are those whom they are of. */
export const chooseAccount = (name: string): void =>
  change({ [accountName]: name, id: "", expected: "", agentId: "", subjectId: "", threadId: "" })

/** The address names the account, so that it can be passed on. */
export const nameAccount = (): void => {
  readAgain()
  const named = parameters.value.get(accountName) ?? ""
  if (named !== account.value) change({ [accountName]: account.value })
}

export const linkTo = (name: string, given: Parameters = {}): string => {
  const pairs = Object.entries({ [accountName]: account.value, ...given }).flatMap(([key, value]) =>
    value === undefined || value === "" ? [] : [[key, value]]
  )
  return pairs.length === 0 ? `#/${name}` : `#/${name}?${new URLSearchParams(pairs)}`
}

/** Changes some parameters of this page, without a step back to the old ones. The address may be newer than its event. */
export const change = (given: Parameters): void => {
  readAgain()
  const merged = { ...Object.fromEntries(parameters.value), ...given }
  history.replaceState(null, "", linkTo(page.value, merged))
  readAgain()
}
