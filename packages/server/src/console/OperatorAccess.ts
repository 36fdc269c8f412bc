/**
 * Operators and what they may do (contract: Operator routes, Console). They come with the data directory's token or a
 * secret of their own, on this machine; or with a browser that signed in, on this machine or, where `MUNIMENT_CONSOLE` is
 * `remote`, by the public URL, which has to be https.
 *
 * Invariant: an operator who was added, and their role, are looked up with each request, so that a revocation ends what was
 * begun.
 */
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { CurrentOperator } from "@muniment/domain/api/Middleware"
import { mayDo } from "@muniment/domain/api/OperatorRoles"
import { Forbidden, Unauthenticated } from "@muniment/domain/Errors"
import { firstOperator, isAdded, type Operator, type OperatorRole } from "@muniment/domain/Operator"
import { Operators } from "@muniment/control/accounts/Operators"
import { isSameSecret } from "@muniment/trust/ApiKeys"
import { apiGroup } from "../apiGroup.ts"
import { ConsoleSessions, requireOwnPage, sessionSecretOf } from "./ConsoleSessions.ts"
import { DataDirectory } from "../DataDirectory.ts"
import { isLocalCaller } from "../identity/ClientAddress.ts"

interface OperatorAccessOptions {
  readonly host: string
  /** Sessions may come from other machines. */
  readonly isRemote: boolean
}

/** An operator who calls. */
interface ActingOperator extends Operator {
  /** Whether they may still act: neither revoked nor signed out. */
  readonly isIn: Effect.Effect<boolean>
}

export class OperatorAccess extends Context.Service<
  OperatorAccess,
  {
    /** The operator of the current request, whose role allows what is `needed`; `token` is its bearer, or empty. */
    readonly require: (
      token: string,
      needed: OperatorRole
    ) => Effect.Effect<ActingOperator, Unauthenticated | Forbidden, HttpServerRequest.HttpServerRequest>
    /** Who signed in, as they are now; undefined: revoked. Others than added ones are what they were. */
    readonly working: (held: Operator) => Effect.Effect<Operator | undefined>
    /** Whether the request may sign an operator in. */
    readonly isInReach: (request: HttpServerRequest.HttpServerRequest) => boolean
  }
>()("muniment/server/OperatorAccess") {
  static readonly layer = (options: OperatorAccessOptions) =>
    Layer.effect(
      OperatorAccess,
      Effect.gen(function* () {
        const { operatorToken } = yield* DataDirectory
        const operators = yield* Operators
        const sessions = yield* ConsoleSessions
        const isInReach = (request: HttpServerRequest.HttpServerRequest) =>
          options.isRemote || isLocalCaller(request, options.host)
        const working = (held: Operator): Effect.Effect<Operator | undefined> =>
          isAdded(held.name) ? operators.working(held.name) : Effect.succeed(held)
        const isWorking = (held: Operator) => Effect.map(working(held), (found) => found !== undefined)

        const bySession = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
          const secret = sessionSecretOf(request.headers)
          if (secret === undefined) {
            return yield* isLocalCaller(request, options.host) ? missingCredentials() : elsewhere()
          }
          if (!isInReach(request)) return yield* elsewhere()
          const session = yield* sessions.find(secret)
          if (session === undefined) return yield* sessionEnded()
          if (session.holder.role !== "operator") return yield* operatorOnly("this is the session of an account")
          yield* requireOwnPage(session)
          const operator = yield* working(session.holder.operator)
          if (operator === undefined) return yield* sessionEnded()
          const isOpen = sessions.isOpen(session.record.id)
          const isIn = Effect.flatMap(isOpen, (open) => (open ? isWorking(operator) : Effect.succeed(false)))
          return { ...operator, isIn }
        })

        const byToken = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, token: string) {
          if (!isLocalCaller(request, options.host)) return yield* elsewhere()
          const isFirst = isSameSecret(token, Redacted.value(operatorToken))
          const operator = isFirst ? firstOperator : yield* operators.authenticate(token)
          if (operator === undefined) {
            return yield* operatorOnly("the operator's token is wrong, or the operator was revoked")
          }
          return { ...operator, isIn: isWorking(operator) }
        })

        return {
          isInReach,
          working,
          require: Effect.fnUntraced(function* (token, needed) {
            const request = yield* HttpServerRequest.HttpServerRequest
            const operator = yield* token === "" ? bySession(request) : byToken(request, token)
            yield* requireRole(operator, needed)
            return operator
          })
        }
      })
    )
}

export const requireRole = ({ name, role }: Operator, needed: OperatorRole): Effect.Effect<void, Forbidden> =>
  mayDo(role, needed)
    ? Effect.void
    : Effect.fail(
        new Forbidden({
          code: "operator_role",
          error: `this needs the role ${needed}, and the operator ${name} has the role ${role}`
        })
      )

export const sessionEnded = () =>
  new Unauthenticated({ code: "session_ended", error: "the session has ended: sign in again" })

export const accountSuspended = () =>
  new Forbidden({ code: "account_suspended", error: "this account is suspended: ask the operator of the service" })

const missingCredentials = () =>
  new Unauthenticated({ code: "missing_credentials", error: "send the operator token: Authorization: Bearer <token>" })

const operatorOnly = (error: string) => new Forbidden({ code: "operator_only", error })

const elsewhere = () => operatorOnly("operator routes answer on this machine only")

const success = true as const

/** Routes of the operators themselves. */
export const operatorsAdminHandlers = apiGroup(
  "operators",
  Effect.fnUntraced(function* (handlers) {
    const operators = yield* Operators
    const sessions = yield* ConsoleSessions

    return handlers.handleAll({
      listOperators: () => Effect.map(operators.list, (found) => ({ success, operators: found })),
      addOperator: Effect.fnUntraced(function* ({ payload }) {
        const { name } = yield* CurrentOperator
        const { record, secret } = yield* operators.add(payload, name)
        return { success, operator: record, secret }
      }),
      changeOperator: Effect.fnUntraced(function* ({ params, payload }) {
        const { name } = yield* CurrentOperator
        return { success, operator: yield* operators.change({ ...params, ...payload }, name) }
      }),
      revokeOperator: Effect.fnUntraced(function* ({ params }) {
        const { name } = yield* CurrentOperator
        const operator = yield* operators.revoke(params.name, name)
        yield* sessions.endOf(operator.name)
        return { success, operator }
      })
    })
  })
)
