/**
 * The context of a request. Effect hands each request the context in which its server and its handlers were built, and
 * copies both to do so; with all services of the process that took a fifteenth of a look-up. What is built takes its
 * services then, so that a request needs few.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { HttpApiBuilder, type HttpApiGroup } from "effect/http-api"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import type {
  Authorization,
  BodyLimit,
  Caller,
  Charging,
  CurrentCall,
  CurrentOperator,
  Idempotency,
  OperatorAuthorization,
  RateLimiting,
  RequestToken,
  Validation,
  WellFormedRequest
} from "@muniment/domain/api/Middleware"
import { AgentArrival } from "@muniment/control/accounts/NamespaceDirectory"
import { CommitSignal } from "@muniment/engine/namespace/Namespace"
import { StorageMeter } from "@muniment/engine/namespace/StorageMeter"
import { RoundBook } from "@muniment/worker/RoundBook"

/** Of our own: the contract's middleware, and settings that have a default where a service would be missed. */
const keptKeys: ReadonlySet<string> = new Set([
  RoundBook.current.key,
  StorageMeter.key,
  CommitSignal.key,
  AgentArrival.key
])
const isKept = (key: string): boolean =>
  !key.startsWith("muniment/") || key.startsWith("muniment/domain/") || keptKeys.has(key)

/** Without the services of the process. */
export const requestContext = <R>(context: Context.Context<R>): Context.Context<R> =>
  Context.makeUnsafe(new Map([...context.mapUnsafe].filter(([key]) => isKept(key))))

type Groups = (typeof MunimentApi.groups)[keyof typeof MunimentApi.groups]

/** Given to a request. */
type Given =
  | Authorization
  | BodyLimit
  | Caller
  | Charging
  | CurrentCall
  | CurrentOperator
  | Idempotency
  | OperatorAuthorization
  | RateLimiting
  | RequestToken
  | Validation
  | WellFormedRequest

/** Services that handlers ask for at each request. */
type AskedLate<Return> =
  Return extends Effect.Effect<HttpApiBuilder.Handlers<infer R, infer _Endpoints, infer _Handled>, infer _E, infer _R>
    ? Exclude<R, Given>
    : never

type GroupLayer<Id extends string, Return> = Layer.Layer<
  HttpApiGroup.Service<"muniment", Id>,
  HttpApiBuilder.Handlers.Error<Return>,
  Exclude<HttpApiBuilder.Handlers.Context<Return>, Scope.Scope>
>

/** Handlers of a group of the contract. Services for each request do not compile: `build` takes them. */
export const apiGroup = <const Id extends HttpApiGroup.Identifier<Groups>, Return>(
  identifier: Id,
  build: (
    handlers: HttpApiBuilder.Handlers.FromGroup<HttpApiGroup.WithIdentifier<Groups, Id>>
  ) => HttpApiBuilder.Handlers.ValidateReturn<Return>
): [AskedLate<Return>] extends [never] ? GroupLayer<Id, Return> : AskedLate<Return> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const services = yield* Effect.context()
      const withServices = (handlers: never): unknown => {
        const built: unknown = build(handlers)
        return Effect.isEffect(built) ? Effect.provideContext(built, services) : built
      }
      const group = HttpApiBuilder.group(MunimentApi, identifier, withServices as never)
      return yield* Effect.updateContext(Layer.build(group), requestContext)
    })
  ) as never
