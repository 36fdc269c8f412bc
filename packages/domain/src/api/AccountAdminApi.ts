/**
 * Operator routes for what becomes of accounts: suspended, resumed, parted from a wallet. Same credentials as the
 * other operator routes.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { InsufficientStorage, InvalidRequest, NotFound } from "../Errors.ts"
import { Limits } from "../Limits.ts"
import { AccountName, AccountRecord, LinkedWallet } from "./AdminApi.ts"
import { BodyLimit, OperatorAuthorization, Validation, WellFormedRequest } from "./Middleware.ts"
import { operation } from "./Operation.ts"

const success = Schema.Literal(true)

const OneAccount = Schema.Struct({ account: AccountName }).annotate({ examples: [{ account: "research" }] })

export class AccountAdminApi extends HttpApiGroup.make("accounts")
  .add(
    HttpApiEndpoint.post("suspend", "/accounts/suspend", {
      payload: OneAccount,
      success: Schema.Struct({ success, account: AccountRecord }),
      error: [NotFound, InsufficientStorage]
    }).annotateMerge(
      operation("Suspend an account", {
        description:
          "From the next request on all its keys and wallets get 403 `account_suspended`. Background jobs and payments under way go on; nothing is deleted."
      })
    ),
    HttpApiEndpoint.post("resume", "/accounts/resume", {
      payload: OneAccount,
      success: Schema.Struct({ success, account: AccountRecord }),
      error: [NotFound, InsufficientStorage]
    }).annotateMerge(operation("End the suspension of an account", {})),
    HttpApiEndpoint.post("unlinkWallet", "/wallets/unlink", {
      payload: Schema.Struct({
        address: Schema.NonEmptyString.check(Schema.isMaxLength(Limits.identifierLengthMax))
      }).annotate({ examples: [{ address: "0x1950290aa52781dd6c4255467bbbeb9f773c1936" }] }),
      success: Schema.Struct({ success, wallet: LinkedWallet }),
      error: [InvalidRequest, NotFound, InsufficientStorage]
    }).annotateMerge(
      operation("Part a wallet from its account", {
        description:
          "It opens no account until it is linked again, and grants that it signed open nothing. The answer names the account that it opened."
      })
    )
  )
  .middleware(Validation)
  .middleware(WellFormedRequest)
  .middleware(OperatorAuthorization)
  .middleware(BodyLimit)
  .prefix("/admin") {}
