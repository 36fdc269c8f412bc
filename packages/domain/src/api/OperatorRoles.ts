/**
 * The role that each operator route needs (contract: Operator routes): the one place that says it. The service enforces
 * it, the OpenAPI document shows it, and a session tells the console what it rules out. A route that is missing here does
 * not compile.
 *
 * In place of an account (`x-account`) reads need `viewer` and everything else `maintainer`: such calls move no money.
 */
import type { OperatorRole } from "../Operator.ts"
import type { MunimentApi } from "./MunimentApi.ts"

type Groups = (typeof MunimentApi)["groups"]
type OperationsOf<Group extends keyof Groups> = {
  [Name in keyof Groups[Group]["endpoints"]]: Groups[Group]["endpoints"][Name] extends {
    readonly path: `/admin/${string}`
  }
    ? `${Group & string}.${Name & string}`
    : never
}[keyof Groups[Group]["endpoints"]]

/** As `accounts.suspend`. */
export type OperatorOperation = { [Group in keyof Groups]: OperationsOf<Group> }[keyof Groups]

export const operatorRoles: Readonly<Record<OperatorOperation, OperatorRole>> = {
  "admin.status": "viewer",
  "admin.createAccount": "maintainer",
  "admin.listAccounts": "viewer",
  "admin.setRemember": "maintainer",
  "admin.setInstructions": "maintainer",
  "admin.createKey": "maintainer",
  "admin.listKeys": "viewer",
  "admin.revokeKey": "maintainer",
  "admin.linkWallet": "maintainer",
  "admin.rotateAttestationKey": "maintainer",
  "admin.listAttestationKeys": "viewer",
  "admin.revokeAttestationKey": "maintainer",
  "admin.exportMemories": "viewer",
  "admin.importMemories": "maintainer",
  "admin.listIndexes": "viewer",
  "admin.series": "viewer",
  "admin.reembedProgress": "viewer",
  "admin.reembed": "maintainer",
  "admin.reread": "maintainer",
  "accounts.suspend": "maintainer",
  "accounts.resume": "maintainer",
  // Books out what the account has paid.
  "accounts.erase": "admin",
  "accounts.unlinkWallet": "maintainer",
  "accounts.quotas": "viewer",
  "accounts.setQuotas": "maintainer",
  "accounts.audit": "viewer",
  "accounts.requests": "viewer",
  "money.checkLedger": "viewer",
  "money.adjust": "admin",
  "money.listPayments": "viewer",
  "money.receipt": "viewer",
  // These two do now what the service does by itself.
  "money.reconcile": "maintainer",
  "money.runJobs": "maintainer",
  "money.refundOffer": "viewer",
  "money.refund": "admin",
  "money.statement": "viewer",
  "money.revenue": "viewer",
  "money.costs": "viewer",
  "money.setPlan": "admin",
  "money.listJobs": "viewer",
  "money.modelUsage": "viewer",
  "backups.listFiles": "viewer",
  // Leaves a copy of the service's secrets on its disk for a minute.
  "backups.copyFile": "maintainer",
  "backups.noteBackup": "maintainer",
  // All data, and the keys of the service.
  "backups.state": "admin",
  "backups.run": "admin",
  "backups.verify": "admin",
  "webhooks.listWebhooks": "viewer",
  "webhooks.resendWebhooks": "maintainer",
  "webhooks.testWebhook": "maintainer",
  // The link signs in the operator who asked for it, with their own role.
  "sessions.createConsoleLink": "viewer",
  "sessions.listSessions": "viewer",
  "sessions.endSession": "maintainer",
  "operators.listOperators": "admin",
  "operators.addOperator": "admin",
  "operators.changeOperator": "admin",
  "operators.revokeOperator": "admin",
  "consolidations.list": "viewer",
  "consolidations.run": "maintainer",
  "consolidations.undo": "maintainer"
}

const ranks: Readonly<Record<OperatorRole, number>> = { viewer: 0, maintainer: 1, admin: 2 }

/** Whether a role may do what needs another. */
export const mayDo = (role: OperatorRole, needed: OperatorRole): boolean => ranks[role] >= ranks[needed]

/** Operations that a role does not allow. */
export const refusedTo = (role: OperatorRole): ReadonlyArray<string> =>
  Object.entries(operatorRoles).flatMap(([name, needed]) => (mayDo(role, needed) ? [] : [name]))

/** What an unknown operation needs, too: every right. */
export const roleNeeded = (operation: string): OperatorRole =>
  (operatorRoles as Readonly<Record<string, OperatorRole | undefined>>)[operation] ?? "admin"
