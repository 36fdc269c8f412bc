/** The signed-in caller, and how many accounts an operator may choose from. */
import { effect, signal } from "@preact/signals"
import type { OperatorOperation } from "@muniment/domain/api/OperatorRoles"
import type { OwnSession } from "@muniment/domain/Console"
import { account } from "./route.ts"

/** Undefined: not known yet; null: nobody. */
export const session = signal<OwnSession | null | undefined>(undefined)

/** Whether the operator who is signed in may do this; the service enforces it. */
export const may = (operation: OperatorOperation): boolean =>
  session.value?.role === "operator" && !session.value.refused.includes(operation)

/** Whether the caller may change what an account holds: keys and operators that do more than look. */
export const mayChange = (): boolean => session.value?.readOnly === false

/** Whether the caller is asked to name agents or subjects: its key is not of the whole account. */
export const isBound = (): boolean => session.value?.isBound === true

/** Whether the caller may change what the whole account shares: its schemas. */
export const mayChangeAccount = (): boolean => mayChange() && !isBound()

/** An account looks at itself alone. */
effect(() => {
  if (session.value?.role === "account") account.value = ""
})

/** How many accounts an operator may choose from; undefined: not known yet. */
export const accountCount = signal<number | undefined>(undefined)

/** Counts changes of the list of accounts that were made here. */
export const accountChanges = signal(0)

/** Whether the service has a language model. */
export const hasModel = signal(false)

/** Whether an OpenID Connect provider signs operators in. */
export const hasOpenId = signal(false)

/** The account that is signed in was suspended meanwhile. */
export const isSuspended = signal(false)

/** Said at the sign-in page. */
export const endedBecause = signal<string | undefined>(undefined)

export const endSession = (): void => {
  session.value = null
  endedBecause.value = "Your session has ended. Sign in again."
}

/** Said where an account has nothing: what an operator looks for may be another's. */
export const otherAccounts = (): string =>
  session.value?.role === "operator" ? `You look at the account ${account.value}; another can be chosen above.` : ""
