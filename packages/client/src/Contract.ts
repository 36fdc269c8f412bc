/**
 * The types of the client, derived from the HTTP contract in `domain` and from nothing else: one
 * method for each endpoint under /v1, named like it. All imports are type imports, so nothing of the
 * contract (or of effect) is loaded at run time. `Muniment implements ContractClient`, hence an
 * endpoint that is added, renamed or changed without its method does not compile.
 */
import type { Endpoints } from "./Endpoints.ts"
import type { GrantsInput } from "./Grant.ts"
import type { Pay, Payment, PaymentReceipt } from "./Payment.ts"

export type EndpointName = keyof Endpoints

/** Answer of an endpoint with status 200. */
export type Answer<Name extends EndpointName> = Endpoints[Name]["answer"]

/** A memory as the service shows it. */
export type Memory = Answer<"get">["memory"]

/** Query parameters of an endpoint; `never` when it has none. */
export type Query<Name extends EndpointName> = WithObjects<Endpoints[Name]["query"]>

/** An object that a URL has as JSON may be given as the object, and a moment as milliseconds since the epoch. */
type WithObjects<Parameters> = [Parameters] extends [never]
  ? never
  : {
      readonly [Key in keyof Parameters]:
        | Parameters[Key]
        | (Key extends "data" | "where" ? object : Key extends "asOf" ? number : never)
    }

/** JSON body of an endpoint; `never` when it has none. */
export type Body<Name extends EndpointName> = AnyLength<Endpoints[Name]["body"]>

export interface CallOptions {
  /** Ends the call, its retries included. */
  readonly signal?: AbortSignal | undefined
  /** For a write: replaces the generated one. The same key and body give the first answer again. */
  readonly idempotencyKey?: string | undefined
  /** For `update` and `delete`: the `version` that is changed; another one is left as it is (412). */
  readonly ifMatch?: string | undefined
  /** Signs a payment when this call answers 402; at most once. `onPaymentRequired` of the client by default. */
  readonly pay?: Pay | undefined
  /** A payment that was signed before, as the error of an unfinished call carries it: the call goes on with it. */
  readonly payment?: Payment | undefined
}

/** With `versions: "all"` the memory goes with its older versions; else the one before is the latest again. */
export type DeleteOptions = CallOptions & Query<"delete">

/** For a search: grants of others to the caller. */
export interface GrantOptions {
  /** At most 10 grants, or a share code; scope `own` does not look at them. */
  readonly grants?: GrantsInput | undefined
}

/** Options of an endpoint; grants where it takes their header. */
export type Options<Name extends EndpointName> =
  HasGrants<Endpoints[Name]["headers"]> extends true ? CallOptions & GrantOptions : CallOptions

/** The answer of a deposit, with what the payment's header says. */
export type Deposited = Answer<"deposit"> & { readonly receipt?: PaymentReceipt }

/** Answers of a search in each mode. */
export interface SearchAnswers {
  readonly llm: Exclude<Answer<"search">, { readonly answer: unknown } | { readonly memoryMap: unknown }>
  readonly raw: SearchAnswers["llm"]
  readonly answer: Extract<Answer<"search">, { readonly answer: unknown }>
  readonly map: Extract<Answer<"search">, { readonly memoryMap: unknown }>
}

/** Answers of a context in each format. */
export interface ContextAnswers {
  readonly text: ContextWith<"text" | "sources">
  readonly json: ContextWith<"sections">
}

type ContextWith<Parts extends "text" | "sources" | "sections"> = Omit<
  Answer<"context">,
  "text" | "sources" | "sections"
> & { readonly [Part in Parts]-?: NonNullable<Answer<"context">[Part]> }

/**
 * A deposit takes its amount as it is, in US dollars; the mode of a search says what it answers, and its length whether
 * it goes in a URL or in a body (`searchByBody`); the format of a context says what that answers.
 */
export type ContractClient = DirectCalls & {
  readonly delete: (id: string, options?: DeleteOptions) => Promise<Answer<"delete">>
  readonly search: <Mode extends keyof SearchAnswers = "llm">(
    query: Query<"search"> & { readonly mode?: Mode },
    options?: Options<"search">
  ) => Promise<SearchAnswers[Mode]>
  readonly context: <Format extends keyof ContextAnswers = "text">(
    body: Body<"context"> & { readonly format?: Format },
    options?: Options<"context">
  ) => Promise<ContextAnswers[Format]>
  readonly deposit: (
    amountUsd: NonNullable<Query<"deposit">["amount_usd"]>,
    options?: Options<"deposit">
  ) => Promise<Deposited>
}

/** Path parameter, then query, then body, then options; each only where the endpoint has it. */
type DirectCalls = {
  readonly [Name in Exclude<EndpointName, "context" | "delete" | "deposit" | "search" | "searchByBody">]: (
    ...input: [
      ...id: Part<Endpoints[Name]["params"], string>,
      ...query: Part<Query<Name>, Query<Name>>,
      ...body: Part<Body<Name>, Body<Name>>,
      options?: Options<Name>
    ]
  ) => Promise<Answer<Name>>
}

type HasGrants<Headers> = [Headers] extends [never] ? false : "x-grants" extends keyof Headers ? true : false

type Part<Declared, Argument> = [Declared] extends [never] ? [] : [Argument]

/** Lets lists that must not be empty be given as plain arrays; the service refuses the empty ones. */
type AnyLength<Fields> = [Fields] extends [never]
  ? never
  : {
      readonly [Key in keyof Fields]: Loose<Fields[Key]>
    }

type Loose<Field> = Field extends readonly [infer Item, ...infer _Rest] ? ReadonlyArray<Item> : Field
