/**
 * Client of a Muniment service for agents: one method for each endpoint under /v1, named like it.
 * It needs a runtime with `fetch` (Node, Deno, Bun, browsers, workers) and no package. Writes carry
 * a generated `Idempotency-Key` while retries are on, so a retried write happens once.
 */
import type { PublishedKeys } from "./Attestation.ts"
import type {
  Answer,
  Body,
  CallOptions,
  ContextAnswers,
  ContractClient,
  DeleteOptions,
  Deposited,
  EndpointName,
  GrantOptions,
  Options,
  Query,
  SearchAnswers
} from "./Contract.ts"
import { type Call, Transport, type TransportOptions, asked, serverSentMessages } from "./Transport.ts"

export { MunimentError, type MunimentErrorDetail } from "./MunimentError.ts"
export type { Answer, Body, Memory, Query } from "./Contract.ts"

export type MunimentOptions = TransportOptions & {
  /** Name of the service in its key file; `muniment` by default. */
  readonly serviceName?: string | undefined
}

/** Content that `add` takes: a text, or messages. */
export type Content = NonNullable<Body<"create">["conversation"]>
export type AddScope = Omit<Body<"create">, "agentId" | "conversation" | "memories"> & { readonly agentId?: string }
export type ForgetFilters = NonNullable<Body<"batchDelete">["filters"]>
export type Forgotten = Answer<"delete"> | Answer<"batchDelete">

/** Agent of memories that none is named for; the command line has the same. */
const agentDefault = "assistant"

/** A read has no key: repeating it changes nothing. */
const asRead = { idempotencyKey: undefined, isWrite: false } as const

export class Muniment implements ContractClient {
  readonly #transport: Transport
  readonly #serviceName: string
  #publicKeys: PublishedKeys | undefined

  constructor(options: MunimentOptions = {}) {
    this.#transport = new Transport(options)
    this.#serviceName = options.serviceName ?? "muniment"
  }

  /**
   * Remembers what a text says, or the messages of a conversation as model APIs have them, with the text itself; for the
   * agent `assistant` where none is named.
   */
  add(content: Content, scope: AddScope = {}, options?: CallOptions): Promise<Answer<"create">> {
    return this.create({ agentId: agentDefault, ...scope, conversation: content }, options)
  }

  /** Stores memories, or extracts them from a conversation. */
  create(body: Body<"create">, options?: CallOptions): Promise<Answer<"create">> {
    return this.#write("create", "POST", "/memories", body, options)
  }

  /** Candidates that would be extracted from a conversation, and those that would not and why; stores nothing. */
  extract(body: Body<"extract">, options?: CallOptions): Promise<Answer<"extract">> {
    return this.#read("extract", { method: "POST", path: "/memories/extract", body }, options)
  }

  /** The latest memory with these unique fields. */
  lookup(body: Body<"lookup">, options?: CallOptions): Promise<Answer<"lookup">> {
    return this.#read("lookup", { method: "POST", path: "/memories/lookup", body }, options)
  }

  /** How many memories each agent, kind, subject, thread or tag has, within the filters. */
  facets(query: Query<"facets">, options?: CallOptions): Promise<Answer<"facets">> {
    return this.#read("facets", { method: "GET", path: "/memories/facets", query }, options)
  }

  /** One page, newest first unless `order` says otherwise; `listAll` turns the pages. */
  list(query: Query<"list"> = {}, options?: CallOptions): Promise<Answer<"list">> {
    return this.#read("list", { method: "GET", path: "/memories", query }, options)
  }

  /** Every memory that the query matches, page after page; `limit` is the size of a page. */
  async *listAll(
    query: Omit<Query<"list">, "cursor"> = {},
    options?: CallOptions
  ): AsyncGenerator<Answer<"list">["memories"][number], void, undefined> {
    let cursor: string | undefined
    do {
      const page = await this.list(cursor === undefined ? query : { ...query, cursor }, options)
      yield* page.memories
      cursor = page.nextCursor
    } while (cursor !== undefined)
  }

  /**
   * By meaning and by words, within the filters; in the caller's memories and those granted to the caller. With
   * mode `answer` a short answer made of them, with mode `map` their topics.
   */
  async search<Mode extends keyof SearchAnswers = "llm">(
    query: Query<"search"> & { readonly mode?: Mode },
    options?: Options<"search">
  ): Promise<SearchAnswers[Mode]> {
    const call = asked("/memories/search", query)
    return (await this.#transport.call({ ...call, ...options, ...asRead })).body as SearchAnswers[Mode]
  }

  /**
   * Text to paste into a prompt, within `maxTokens`: who the subject is, standing instructions, preferences, what changed
   * and what is planned, then what bears on `query` or on the last of `messages`. With format `json` its sections.
   */
  async context<Format extends keyof ContextAnswers = "text">(
    body: Body<"context"> & { readonly format?: Format },
    options?: Options<"context">
  ): Promise<ContextAnswers[Format]> {
    const answer = await this.#read("context", { method: "POST", path: "/context", body }, options)
    return answer as ContextAnswers[Format]
  }

  /** What the service's language model replies to the last turn, handed the context for it; stores nothing. */
  chat(body: Body<"chat">, options?: CallOptions): Promise<Answer<"chat">> {
    return this.#read("chat", { method: "POST", path: "/chat", body }, options)
  }

  /** One page of whom memories belong to, by id, with the names that they are called by. */
  subjects(query: Query<"subjects"> = {}, options?: CallOptions): Promise<Answer<"subjects">> {
    return this.#read("subjects", { method: "GET", path: "/subjects", query }, options)
  }

  /** Facts about a subject now, by topic, with what held before. */
  profile(id: string, query: Query<"profile"> = {}, options?: CallOptions): Promise<Answer<"profile">> {
    return this.#read("profile", { method: "GET", path: `/subjects/${encodeURIComponent(id)}/profile`, query }, options)
  }

  get(id: string, options?: CallOptions): Promise<Answer<"get">> {
    return this.#read("get", { method: "GET", path: `/memories/${encodeURIComponent(id)}` }, options)
  }

  /** Every version of a memory that is there, newest first, and how each came about. */
  history(id: string, query: Query<"history"> = {}, options?: CallOptions): Promise<Answer<"history">> {
    return this.#read("history", { method: "GET", path: `/memories/${encodeURIComponent(id)}/history`, query }, options)
  }

  /** Makes an older version the latest one, as a new version. */
  restore(id: string, options?: CallOptions): Promise<Answer<"restore">> {
    return this.#write("restore", "POST", `/memories/${encodeURIComponent(id)}/restore`, undefined, options)
  }

  /** Says whether a memory was of use, and for which query: kept with the memory, moves nothing in searches. */
  feedback(id: string, body: Body<"feedback">, options?: CallOptions): Promise<Answer<"feedback">> {
    return this.#write("feedback", "POST", `/memories/${encodeURIComponent(id)}/feedback`, body, options)
  }

  /** Changes data, tags, metadata or expiry. */
  update(id: string, body: Body<"update">, options?: CallOptions): Promise<Answer<"update">> {
    return this.#write("update", "PATCH", `/memories/${encodeURIComponent(id)}`, body, options)
  }

  /** One version; an older one that is the latest again then is `revived`. */
  delete(id: string, { versions, ...options }: DeleteOptions = {}): Promise<Answer<"delete">> {
    const query = versions === undefined ? {} : { versions }
    const path = `/memories/${encodeURIComponent(id)}`
    return this.#answer<"delete">({ ...options, method: "DELETE", path, query, isWrite: true })
  }

  /**
   * Deletes a memory with all its versions, or all that the filters select, such as all memories of a subject, so that
   * none of them is known any more. A filter that is undefined is refused: left out, it would select more.
   */
  async forget(target: string | ForgetFilters, options?: CallOptions): Promise<Forgotten> {
    if (typeof target === "string" && target !== "") return this.delete(target, { ...options, versions: "all" })
    if (typeof target !== "object" || Object.keys(target).length === 0)
      throw new TypeError("give the id of a memory, or filters such as subjectId")
    const unset = Object.entries(target).find(([, value]) => value === undefined)
    if (unset !== undefined) throw new TypeError(`${unset[0]} is undefined: nothing was forgotten`)
    return this.batchDelete({ filters: target, versions: "all" }, options)
  }

  /** Up to 10 queries in one call. */
  batchSearch(body: Body<"batchSearch">, options?: Options<"batchSearch">): Promise<Answer<"batchSearch">> {
    return this.#read("batchSearch", { method: "POST", path: "/memories/batch/search", body }, options)
  }

  /** By ids or by filters, never both; `dryRun` only counts. */
  batchDelete(body: Body<"batchDelete">, options?: CallOptions): Promise<Answer<"batchDelete">> {
    return this.#write("batchDelete", "POST", "/memories/batch/delete", body, options)
  }

  batchUpdate(body: Body<"batchUpdate">, options?: CallOptions): Promise<Answer<"batchUpdate">> {
    return this.#write("batchUpdate", "POST", "/memories/batch/update", body, options)
  }

  batchCreate(body: Body<"batchCreate">, options?: CallOptions): Promise<Answer<"batchCreate">> {
    return this.#write("batchCreate", "POST", "/memories/batch/create", body, options)
  }

  /**
   * One page of what happened to memories; go on with its `nextCursor`. Without a cursor it begins with now, with
   * `from: "oldest"` with the first one that is kept. `followEvents` waits for more.
   */
  events(query: Query<"events"> = {}, options?: CallOptions): Promise<Answer<"events">> {
    return this.#read("events", { method: "GET", path: "/events", query }, options)
  }

  /**
   * What happens to memories, as it happens, until the signal ends it: each change once and in order by agent, also when
   * the connection breaks or the service starts anew: from now on, with `from: "oldest"` from the first one that is kept.
   * Keep the `id` of the last event that you have dealt with, and begin with it as `cursor` the next time.
   */
  async *followEvents(
    query: Omit<Query<"events">, "limit"> = {},
    options: Pick<CallOptions, "signal"> = {}
  ): AsyncGenerator<Answer<"events">["events"][number], void, undefined> {
    const { signal } = options
    const { cursor, ...rest } = query
    let last = cursor
    for (let failures = 0; ;) {
      try {
        const body = await this.#transport.stream({ path: "/events", query: rest, signal }, last)
        for await (const { data, id } of serverSentMessages(body)) {
          failures = 0
          last = id ?? last
          if (data !== undefined) yield { ...JSON.parse(data), id: last } as Answer<"events">["events"][number]
        }
        await this.#transport.pauseAfter(failures++, undefined, signal)
      } catch (error) {
        await this.#transport.pauseAfter(failures++, error, signal)
      }
    }
  }

  /** Registers a kind of memory. */
  register(body: Body<"register">, options?: CallOptions): Promise<Answer<"register">> {
    return this.#write("register", "POST", "/schemas", body, options)
  }

  /** Whether data would be accepted by a kind, or by a schema that is not registered; stores nothing. */
  trySchema(body: Body<"trySchema">, options?: CallOptions): Promise<Answer<"trySchema">> {
    return this.#read("trySchema", { method: "POST", path: "/schemas/try", body }, options)
  }

  listSchemas(options?: CallOptions): Promise<Answer<"listSchemas">> {
    return this.#read("listSchemas", { method: "GET", path: "/schemas" }, options)
  }

  getSchema(name: string, options?: CallOptions): Promise<Answer<"getSchema">> {
    return this.#read("getSchema", { method: "GET", path: `/schemas/${encodeURIComponent(name)}` }, options)
  }

  updateSchema(name: string, body: Body<"updateSchema">, options?: CallOptions): Promise<Answer<"updateSchema">> {
    return this.#write("updateSchema", "PATCH", `/schemas/${encodeURIComponent(name)}`, body, options)
  }

  deleteSchema(name: string, options?: CallOptions): Promise<Answer<"deleteSchema">> {
    return this.#write("deleteSchema", "DELETE", `/schemas/${encodeURIComponent(name)}`, undefined, options)
  }

  /** A signed statement about the caller's memories; `verifyAttestation` checks it anywhere. */
  attest(body: Body<"attest">, options?: CallOptions): Promise<Answer<"attest">> {
    return this.#write("attest", "POST", "/attestations", body, options)
  }

  /** By the grantor: the service refuses the grant from then on. */
  revokeGrant(body: Body<"revokeGrant">, options?: CallOptions): Promise<Answer<"revokeGrant">> {
    return this.#write("revokeGrant", "POST", "/grants/revoke", body, options)
  }

  /**
   * Credits the caller's account, 1,000 for a dollar; 0.10 to 1,000 dollars in whole cents. The service
   * answers 402 first, then `pay` signs; while the outcome is unknown the same payment is sent again.
   */
  async deposit(amountUsd: number, options?: CallOptions): Promise<Deposited> {
    const { body, receipt } = await this.#transport.call({
      method: "POST",
      path: "/credits/deposit",
      query: { amount_usd: amountUsd } satisfies Query<"deposit">,
      isWrite: true,
      ...options
    })
    const answer = body as Answer<"deposit">
    return receipt === undefined ? answer : { ...answer, receipt }
  }

  /** Balance, allowance, plan, and how long the balance keeps a free plan's memories. */
  credits(options?: CallOptions): Promise<Answer<"credits">> {
    return this.#read("credits", { method: "GET", path: "/credits" }, options)
  }

  /**
   * Signed receipt of a payment of the account, by its id or its transaction; the same whenever it is asked for. Like
   * `transactions`, `statement` and `costs` not for keys that are bound to agents or subjects (403 `key_scope`).
   */
  receipt(id: string, options?: CallOptions): Promise<Answer<"receipt">> {
    return this.#read(
      "receipt",
      { method: "GET", path: `/credits/payments/${encodeURIComponent(id)}/receipt` },
      options
    )
  }

  /** One page of the account's movements, newest first; `nextCursor` leads to the next. */
  transactions(query: Query<"transactions"> = {}, options?: CallOptions): Promise<Answer<"transactions">> {
    return this.#read("transactions", { method: "GET", path: "/credits/transactions", query }, options)
  }

  /** One page of the movements of a period, oldest first, with what stood in the purses before and after. */
  statement(query: Omit<Query<"statement">, "format"> = {}, options?: CallOptions): Promise<Answer<"statement">> {
    return this.#read("statement", { method: "GET", path: "/account/statement", query }, options)
  }

  /** Costs of each agent in a period, the dearest first. */
  costs(query: Omit<Query<"costs">, "format"> = {}, options?: CallOptions): Promise<Answer<"costs">> {
    return this.#read("costs", { method: "GET", path: "/account/costs", query }, options)
  }

  /** Calls of the account, newest first; `before` the last id leads on. Not for bound keys. */
  requests(query: Query<"requests"> = {}, options?: CallOptions): Promise<Answer<"requests">> {
    return this.#read("requests", { method: "GET", path: "/account/requests", query }, options)
  }

  /** Keys that attestations of the service verify with; fetched once, and again with `refresh`. */
  async publicKeys(options: CallOptions & { readonly refresh?: boolean } = {}): Promise<PublishedKeys> {
    if (this.#publicKeys !== undefined && options.refresh !== true) return this.#publicKeys
    const path = `/.well-known/${encodeURIComponent(this.#serviceName)}-keys.json`
    const { body } = await this.#transport.call({
      method: "GET",
      path,
      isWrite: false,
      isPublic: true,
      signal: options.signal
    })
    this.#publicKeys = body as PublishedKeys
    return this.#publicKeys
  }

  /** Who the credentials belong to, with the number of live memories of each agent. */
  whoami(options?: CallOptions): Promise<Answer<"whoami">> {
    return this.#read("whoami", { method: "GET", path: "/account" }, options)
  }

  /** Keys of the account that are not revoked, without secrets. */
  listKeys(options?: CallOptions): Promise<Answer<"listKeys">> {
    return this.#read("listKeys", { method: "GET", path: "/keys" }, options)
  }

  /** A key with no more rights than this one; its secret is shown once. */
  createKey(body: Body<"createKey">, options?: CallOptions): Promise<Answer<"createKey">> {
    return this.#write("createKey", "POST", "/keys", body, options)
  }

  /** With the keys that it made and those that they made, unless `keepMade`. */
  revokeKey(id: string, query: Query<"revokeKey"> = {}, options?: CallOptions): Promise<Answer<"revokeKey">> {
    const path = `/keys/${encodeURIComponent(id)}`
    return this.#answer<"revokeKey">({ ...options, method: "DELETE", path, query, isWrite: true })
  }

  /** Where the account's events are sent; without secrets. */
  listHooks(options?: CallOptions): Promise<Answer<"listHooks">> {
    return this.#read("listHooks", { method: "GET", path: "/webhooks" }, options)
  }

  getHook(id: string, options?: CallOptions): Promise<Answer<"getHook">> {
    return this.#read("getHook", { method: "GET", path: hookPath(id) }, options)
  }

  /** The secret of its signatures is shown once. */
  createHook(body: Body<"createHook">, options?: CallOptions): Promise<Answer<"createHook">> {
    return this.#write("createHook", "POST", "/webhooks", body, options)
  }

  changeHook(id: string, body: Body<"changeHook">, options?: CallOptions): Promise<Answer<"changeHook">> {
    return this.#write("changeHook", "PATCH", hookPath(id), body, options)
  }

  removeHook(id: string, options?: CallOptions): Promise<Answer<"removeHook">> {
    return this.#write("removeHook", "DELETE", hookPath(id), undefined, options)
  }

  rotateHookSecret(id: string, options?: CallOptions): Promise<Answer<"rotateHookSecret">> {
    return this.#write("rotateHookSecret", "POST", `${hookPath(id)}/secret`, undefined, options)
  }

  /** Sends a message of type `test` once. */
  testHook(id: string, options?: CallOptions): Promise<Answer<"testHook">> {
    return this.#write("testHook", "POST", `${hookPath(id)}/test`, undefined, options)
  }

  hookDeliveries(
    id: string,
    query: Query<"hookDeliveries"> = {},
    options?: CallOptions
  ): Promise<Answer<"hookDeliveries">> {
    return this.#read("hookDeliveries", { method: "GET", path: `${hookPath(id)}/deliveries`, query }, options)
  }

  /** One message that was given up, or all. */
  repeatDeliveries(
    id: string,
    body: Body<"repeatDeliveries"> = {},
    options?: CallOptions
  ): Promise<Answer<"repeatDeliveries">> {
    return this.#write("repeatDeliveries", "POST", `${hookPath(id)}/deliveries/repeat`, body, options)
  }

  #read<Name extends EndpointName>(
    _name: Name,
    call: Pick<Call, "method" | "path" | "query" | "body">,
    options: (CallOptions & GrantOptions) | undefined
  ): Promise<Answer<Name>> {
    return this.#answer({ ...call, ...options, ...asRead })
  }

  #write<Name extends EndpointName>(
    _name: Name,
    method: Call["method"],
    path: string,
    body: object | undefined,
    options: CallOptions | undefined
  ): Promise<Answer<Name>> {
    return this.#answer({ ...options, method, path, body, isWrite: true })
  }

  // The service encodes its answers by the same contract that `Answer` is derived from.
  async #answer<Name extends EndpointName>(call: Call): Promise<Answer<Name>> {
    return (await this.#transport.call(call)).body as Answer<Name>
  }
}

const hookPath = (id: string): string => `/webhooks/${encodeURIComponent(id)}`
