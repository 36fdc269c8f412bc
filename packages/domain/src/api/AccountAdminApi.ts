/**
 * Operator routes for what becomes of accounts: suspended, resumed, erased, parted from a wallet. Same credentials as the
 * other operator routes.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { AccountErasureReport } from "../Account.ts"
import { exactlyOneOf } from "../BodyRules.ts"
import { CalendarDay } from "../GivenTimes.ts"
import { Conflict, InsufficientStorage, InvalidRequest, NotFound, Unavailable } from "../Errors.ts"
import { AuditEvent, LogName, RequestQuery, RequestRecord } from "../Operations.ts"
import { QuotaName, QuotaTier, QuotaUse } from "../Plans.ts"
import { AccountName, AccountRecord, LinkedWallet, WalletAddressText } from "./AdminApi.ts"
import { BodyLimit, OperatorAuthorization, Validation, WellFormedRequest, operation } from "./Middleware.ts"
import { ConsoleLink, SessionRecord } from "../Console.ts"
import { OperatorName, OperatorRecord, OperatorRole } from "../Operator.ts"

const success = Schema.Literal(true)

/** Setting of the operator. */
const QuotaSetting = Schema.Union([
  Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  Schema.Null,
  Schema.Literal("default")
])

const QuotaSettings = Schema.Struct({
  bytes: Schema.optionalKey(QuotaSetting),
  schemas: Schema.optionalKey(QuotaSetting),
  schemaBytes: Schema.optionalKey(QuotaSetting),
  agents: Schema.optionalKey(QuotaSetting),
  keys: Schema.optionalKey(QuotaSetting),
  openRequests: Schema.optionalKey(QuotaSetting)
})

const ShownQuotas = Schema.Struct({
  success,
  tiers: Schema.Array(
    Schema.Struct({
      tier: QuotaTier,
      limits: Schema.Array(Schema.Struct({ name: QuotaName, limit: Schema.NullOr(Schema.Int) }))
    })
  ),
  account: Schema.optionalKey(Schema.Struct({ name: Schema.String, tier: QuotaTier, quotas: Schema.Array(QuotaUse) }))
})

const OneAccount = Schema.Struct({ account: AccountName }).annotate({ examples: [{ account: "research" }] })

export class AccountAdminApi extends HttpApiGroup.make("accounts")
  .add(
    HttpApiEndpoint.post("suspend", "/accounts/suspend", {
      payload: OneAccount,
      success: Schema.Struct({ success, account: AccountRecord }),
      error: [NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Suspend an account", {
        description:
          "From the next request on all its keys and wallets get 403 `account_suspended`. Background jobs and payments under way go on; nothing is deleted."
      })
    ),
    HttpApiEndpoint.post("resume", "/accounts/resume", {
      payload: OneAccount,
      success: Schema.Struct({ success, account: AccountRecord }),
      error: [NotFound, Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("End the suspension of an account", {
        description: "409 `erasure_open` once its erasure has begun: nothing ends that but its end."
      })
    ),
    HttpApiEndpoint.post("erase", "/accounts/erase", {
      payload: Schema.Struct({ account: AccountName, dryRun: Schema.optionalKey(Schema.Boolean) }).annotate({
        examples: [{ account: "research", dryRun: true }]
      }),
      success: Schema.Struct({ success, erasure: AccountErasureReport }),
      error: [NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Erase an account wholly", {
        description:
          "Suspends it, waits for its calls, and removes memories, agents' files, keys, wallets, schemas and kept answers. Its ledger is closed to zero and stays. Finished by the next start after a kill; repeated, it gives the first report. A dry run reports what there is."
      })
    ),
    HttpApiEndpoint.post("unlinkWallet", "/wallets/unlink", {
      payload: Schema.Struct({
        address: WalletAddressText
      }).annotate({ examples: [{ address: "0x1950290aa52781dd6c4255467bbbeb9f773c1936" }] }),
      success: Schema.Struct({ success, wallet: LinkedWallet }),
      error: [InvalidRequest, NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Part a wallet from its account", {
        description:
          "It opens no account until it is linked again, and grants that it signed open nothing. The answer names the account that it opened."
      })
    ),
    HttpApiEndpoint.get("quotas", "/quotas", {
      query: { account: Schema.optionalKey(AccountName) },
      success: ShownQuotas,
      error: NotFound
    }).annotateMerge(
      operation("Quotas of the tiers, and of an account", {
        description: "Null: no limit. With what the account uses."
      })
    ),
    HttpApiEndpoint.post("setQuotas", "/quotas", {
      payload: Schema.Struct({
        account: Schema.optionalKey(AccountName),
        tier: Schema.optionalKey(QuotaTier),
        limits: QuotaSettings
      })
        .annotate({ examples: [{ account: "research", limits: { bytes: 1_073_741_824, keys: "default" } }] })
        .check(exactlyOneOf("account", "tier")),
      success: ShownQuotas,
      error: [InvalidRequest, NotFound, InsufficientStorage, Unavailable]
    })
      .annotateMerge(
        operation("Set quotas of a tier or of an account", {
          description:
            "A number; null: no limit; `default`: as the tier, or this service, has it. What is not named stays. Counts from the next request on; what an account holds above a lower limit stays."
        })
      )
      .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error" }),
    HttpApiEndpoint.get("audit", "/audit", {
      query: {
        before: Schema.optionalKey(Schema.Int.annotate({ description: "Only events with a smaller id." })),
        action: Schema.optionalKey(LogName.annotate({ description: "As `accounts.suspend`, or `accounts` for all." })),
        subject: Schema.optionalKey(
          LogName.annotate({
            description:
              "Account, key, wallet or operator that it was about, or a name in its details, as a memory's id."
          })
        ),
        operator: Schema.optionalKey(LogName.annotate({ description: "Name of the operator who did it." })),
        from: Schema.optionalKey(CalendarDay.annotate({ description: "First day, UTC." })),
        to: Schema.optionalKey(CalendarDay.annotate({ description: "Last day, UTC." })),
        limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })))
      },
      success: Schema.Struct({ success, events: Schema.Array(AuditEvent) })
    }).annotateMerge(
      operation("What operators did", {
        description: "Every change by an operator route, newest first; the log cannot be changed."
      })
    ),
    HttpApiEndpoint.get("requests", "/requests", {
      query: {
        account: Schema.optionalKey(AccountName),
        ...RequestQuery
      },
      success: Schema.Struct({ success, requests: Schema.Array(RequestRecord) }),
      error: NotFound
    }).annotateMerge(
      operation("What accounts called", {
        description:
          "Newest first: who, which operation, when, how it ended; never what was said. Kept as long as the operator has set, 30 days by default."
      })
    )
  )
  .middleware(Validation)
  .middleware(WellFormedRequest)
  .middleware(OperatorAuthorization)
  .middleware(BodyLimit)
  .prefix("/admin") {}

/** Operator routes of the console's sessions (contract: Console). Same credentials as the other operator routes. */
export class ConsoleAdminApi extends HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.post("createConsoleLink", "/console-links", {
      success: Schema.Struct({ success, link: ConsoleLink })
    }).annotateMerge(
      operation("Make a one-time link to the console", {
        description: "It signs one browser in as the operator who made it, once, within ten minutes."
      })
    ),
    HttpApiEndpoint.get("listSessions", "/sessions", {
      success: Schema.Struct({ success, sessions: Schema.Array(SessionRecord) })
    }).annotateMerge(operation("Sessions of the console", { description: "Newest first." })),
    HttpApiEndpoint.delete("endSession", "/sessions/:id", {
      params: { id: Schema.String.annotate({ examples: ["ses_01KAJ8Q0V7E5XK9D2M4N6P8R0T"] }) },
      success: Schema.Struct({ success, session: SessionRecord }),
      error: NotFound
    }).annotateMerge(operation("End a session of the console", { description: "Its browser has to sign in again." }))
  )
  .middleware(Validation)
  .middleware(WellFormedRequest)
  .middleware(OperatorAuthorization)
  .middleware(BodyLimit)
  .prefix("/admin") {}

/** Operator routes of the operators themselves: who may act, as what. For the role `admin`. */
export class OperatorsAdminApi extends HttpApiGroup.make("operators")
  .add(
    HttpApiEndpoint.get("listOperators", "/operators", {
      success: Schema.Struct({ success, operators: Schema.Array(OperatorRecord) })
    }).annotateMerge(
      operation("List operators", {
        description: "Oldest first, revoked ones too; not the first, who holds the data directory's token."
      })
    ),
    HttpApiEndpoint.post("addOperator", "/operators", {
      payload: Schema.Struct({ name: OperatorName, role: OperatorRole }).annotate({
        examples: [{ name: "alice", role: "viewer" }]
      }),
      success: Schema.Struct({ success, operator: OperatorRecord, secret: Schema.String }),
      error: [InvalidRequest, Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Add an operator", {
        description:
          "`viewer` looks, `maintainer` does all but money and operators, `admin` does all. The secret is shown once. A name is used once, also after a revocation: the audit log knows operators by it."
      })
    ),
    HttpApiEndpoint.patch("changeOperator", "/operators/:name", {
      params: { name: OperatorName },
      payload: Schema.Struct({ role: OperatorRole }).annotate({ examples: [{ role: "maintainer" }] }),
      success: Schema.Struct({ success, operator: OperatorRecord }),
      error: [NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Change an operator's role", {
        description: "From the next request on; the secret and their sessions stay."
      })
    ),
    HttpApiEndpoint.delete("revokeOperator", "/operators/:name", {
      params: { name: OperatorName },
      success: Schema.Struct({ success, operator: OperatorRecord }),
      error: [NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Revoke an operator", { description: "From the next request on, with their sessions. For good." })
    )
  )
  .middleware(Validation)
  .middleware(WellFormedRequest)
  .middleware(OperatorAuthorization)
  .middleware(BodyLimit)
  .prefix("/admin") {}
