/** The signed-in caller, and the account that an operator looks at. */
import { signal } from "@preact/signals"
import type { OwnSession } from "@muniment/domain/Console"

/** Undefined: not known yet; null: nobody. */
export const session = signal<OwnSession | null | undefined>(undefined)

const accountKey = "muniment.account"

/** Name of the account whose memories are shown. */
export const account = signal(sessionStorage.getItem(accountKey) ?? "")

export const chooseAccount = (name: string): void => {
  account.value = name
  sessionStorage.setItem(accountKey, name)
}

/** How many accounts an operator may choose from; undefined: not known yet. */
export const accountCount = signal<number | undefined>(undefined)

/** Said at the sign-in page. */
export const endedBecause = signal<string | undefined>(undefined)

export const endSession = (): void => {
  session.value = null
  endedBecause.value = "Your session has ended. Sign in again."
}

/** Said where an account has nothing: what an operator looks for may be another's. */
export const otherAccounts = (): string =>
  session.value?.role === "operator" ? `You look at the account ${account.value}; another can be chosen above.` : ""
