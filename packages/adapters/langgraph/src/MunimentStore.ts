/**
 * A store of LangGraph (`BaseStore`) over the service: an item is a memory of the kind `langgraph_item`, its namespace
 * the memory's subject (labels joined by dots) and its key the memory's thread, as the Python client's store has them.
 * A put supersedes the item's memory in one step on the server, a delete takes all its versions along.
 */
import {
  BaseStore,
  type GetOperation,
  InvalidNamespaceError,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation
} from "@langchain/langgraph-checkpoint"
import { type Memory, type Muniment, MunimentError } from "@muniment/client"
import { queryOf } from "@muniment/client/CallLimits"

const kind = "langgraph_item"
const schema = JSON.stringify({
  // No tool writes it.
  "x-tool": false,
  type: "object",
  properties: {
    key: { type: "string" },
    value: { type: "object" },
    indexed: { type: "boolean" },
    ttl: { type: "number" }
  },
  required: ["key", "value"]
})

const identifierLengthMax = 128
const hitsMax = 100
const queriesMax = 10
const facetValuesMax = 1_000
const limitDefault = 10

type Stored = Pick<Memory, "data" | "metadata">

/**
 * Long-term memory of LangGraph agents. A search with a `query` finds by meaning and by words, without an embedding
 * model of your own. `agentId` separates stores.
 */
export class MunimentStore extends BaseStore {
  readonly #client: Muniment
  readonly #agentId: string
  #hasKind = false

  constructor(client: Muniment, { agentId = "langgraph" }: { readonly agentId?: string } = {}) {
    super()
    this.#client = client
    this.#agentId = agentId
  }

  /** Reads see what was there before the puts of the same batch; of several puts of a key the last one counts. */
  async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    operations.forEach(checkLabels)
    const results = await Promise.all(operations.map((operation) => this.#read(operation)))
    const puts = new Map<string, PutOperation>()
    for (const operation of operations) {
      if ("value" in operation) puts.set(JSON.stringify([operation.namespace, operation.key]), operation)
    }
    for (const put of puts.values()) await this.#put(put)
    return results as OperationResults<Op>
  }

  async #read(operation: Operation): Promise<Item | null | ReadonlyArray<SearchItem> | ReadonlyArray<string[]> | void> {
    if ("value" in operation) return undefined
    if ("namespacePrefix" in operation) return await this.#search(operation)
    return "key" in operation ? await this.#get(operation) : await this.#listNamespaces(operation)
  }

  async #get({ key, namespace }: GetOperation): Promise<Item | null> {
    try {
      const place = { agentId: this.#agentId, subjectId: subjectOf(namespace) }
      const { memory } = await this.#client.lookup({ ...place, kind, key: { key } })
      return itemOf(memory)
    } catch (error) {
      // Nothing was ever put, or not this.
      if (error instanceof MunimentError && (error.code === "unknown_kind" || error.status === 404)) return null
      throw error
    }
  }

  async #put({ index, key, namespace, value }: PutOperation): Promise<void> {
    const place = { agentId: this.#agentId, subjectId: subjectOf(namespace), threadId: await threadOf(key) }
    if (value === null) {
      await this.#client.batchDelete({ filters: { ...place, kind } })
      return
    }
    await this.#registerKind()
    const data = { key, value, ...(index === false && { indexed: false }) }
    const memories = [{ kind, data }]
    await this.#client.create({ ...place, memories, ...(index !== false && { wait: "vectors" as const }) })
  }

  async #search(operation: SearchOperation): Promise<ReadonlyArray<SearchItem>> {
    const { filter, limit = limitDefault, namespacePrefix, offset = 0 } = operation
    const query = queryOf(operation.query ?? "")
    const found =
      query !== undefined
        ? await this.#byQuery(operation, query)
        : this.#newest(namespacePrefix, filter, offset + limit)
    const page: Array<SearchItem> = []
    for await (const item of found) {
      if (passes(item, filter)) page.push(item)
      if (page.length === offset + limit) break
    }
    return page.slice(offset)
  }

  /** Newest first. */
  async *#newest(
    prefix: ReadonlyArray<string>,
    filter: SearchOperation["filter"],
    wanted: number
  ): AsyncGenerator<SearchItem, void, undefined> {
    if (prefix.length === 0) {
      yield* this.#listed(undefined)
      return
    }
    const items: Array<SearchItem> = []
    for (const namespace of await this.#namespaces(prefix)) {
      let passing = 0
      for await (const item of this.#listed(namespace)) {
        items.push(item)
        if (passes(item, filter) && ++passing === wanted) break
      }
    }
    yield* items.toSorted((left, right) => right.createdAt.getTime() - left.createdAt.getTime())
  }

  async *#listed(namespace: ReadonlyArray<string> | undefined): AsyncGenerator<SearchItem, void, undefined> {
    const place = { agentId: this.#agentId, ...(namespace !== undefined && { subjectId: subjectOf(namespace) }) }
    for await (const memory of this.#client.listAll({ ...place, kind, limit: hitsMax })) yield itemOf(memory)
  }

  /** The best below a prefix; the service looks at as many as one of its pages holds in each namespace. */
  async #byQuery(operation: SearchOperation, query: string): Promise<ReadonlyArray<SearchItem>> {
    const { filter, limit: wanted = limitDefault, namespacePrefix, offset = 0 } = operation
    const limit = filter === undefined ? Math.min(hitsMax, offset + wanted) : hitsMax
    const asked = namespacePrefix.length === 0 ? [undefined] : await this.#namespaces(namespacePrefix)
    const hits: Array<SearchItem> = []
    for (let at = 0; at < asked.length; at += queriesMax) {
      const queries = asked.slice(at, at + queriesMax).map((namespace) => ({
        query,
        limit,
        filters: { agentId: this.#agentId, kind, ...(namespace !== undefined && { subjectId: subjectOf(namespace) }) }
      }))
      const { results } = await this.#client.batchSearch({ queries: queries as [Query, ...Query[]], scope: "own" })
      for (const hit of results.flatMap(({ memories }) => memories)) {
        if (hit.data["indexed"] !== false) hits.push({ ...itemOf(hit), score: hit.quality.relevance })
      }
    }
    return hits.toSorted((left, right) => (right.score ?? 0) - (left.score ?? 0))
  }

  async #listNamespaces(operation: ListNamespacesOperation): Promise<ReadonlyArray<string[]>> {
    const { limit, matchConditions = [], maxDepth, offset } = operation
    const passing = (await this.#namespaces([])).filter((labels) => matchConditions.every((one) => holds(one, labels)))
    const names = new Set(passing.map((labels) => labels.slice(0, maxDepth).join(".")))
    return [...names]
      .toSorted(byCodeUnits)
      .slice(offset, offset + limit)
      .map((name) => name.split("."))
  }

  /** That have an item, below a prefix; in order. */
  async #namespaces(prefix: ReadonlyArray<string>): Promise<ReadonlyArray<string[]>> {
    const { isExact, total, values } = await this.#client.facets({
      facet: "subjects",
      agentId: this.#agentId,
      kind,
      ...(prefix.length > 0 && { contains: prefix.join(".") }),
      order: "name",
      limit: facetValuesMax
    })
    const subjects = new Set(values.map(({ value }) => value))
    if (!isExact || total > values.length) {
      for await (const { namespace } of this.#listed(undefined)) subjects.add(namespace.join("."))
    }
    const namespaces = [...subjects].toSorted(byCodeUnits).map((subject) => subject.split("."))
    return namespaces.filter((labels) => prefix.every((label, at) => labels[at] === label))
  }

  async #registerKind(): Promise<void> {
    if (this.#hasKind) return
    try {
      const description = "An item of a LangGraph store: its key and its value."
      await this.#client.register({ name: kind, description, schema, uniqueOn: ["key"] })
    } catch (error) {
      if (!(error instanceof MunimentError) || error.code !== "schema_exists") throw error
    }
    this.#hasKind = true
  }
}

type Query = Parameters<Muniment["batchSearch"]>[0]["queries"][number]

const byCodeUnits = (left: string, right: string): number => (left < right ? -1 : 1)

/** Joined by dots, `["foo.bar"]` would be `["foo", "bar"]`. The methods of `BaseStore` look at some, `batch` at none. */
const checkLabels = (operation: Operation): void => {
  const paths =
    "namespacePrefix" in operation
      ? [operation.namespacePrefix]
      : "namespace" in operation
        ? [operation.namespace]
        : (operation.matchConditions ?? []).map(({ path }) => path)
  for (const path of paths) {
    if (path.some((label) => typeof label !== "string" || label === "" || label.includes(".") || label.includes("\0")))
      throw new InvalidNamespaceError(
        `A label is a text that is not empty, without periods and NUL: ${path.join(", ")}`
      )
  }
}

const subjectOf = (namespace: ReadonlyArray<string>): string => {
  const subject = namespace.join(".")
  if (subject.length > identifierLengthMax)
    throw new InvalidNamespaceError(`A namespace has at most ${identifierLengthMax} characters in all: ${subject}`)
  return subject
}

const threadOf = async (key: string): Promise<string> => {
  if (key.length > 0 && key.length <= identifierLengthMax) return key
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key))
  return `sha256:${Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")}`
}

const itemOf = ({ data, metadata }: Stored): SearchItem => ({
  namespace: String(metadata["subjectId"]).split("."),
  key: String(data["key"]),
  value: data["value"] as Item["value"],
  createdAt: new Date(Number(metadata["createdAt"])),
  updatedAt: new Date(Number(metadata["updatedAt"]))
})

const holds = ({ matchType, path }: MatchCondition, namespace: ReadonlyArray<string>): boolean => {
  const from = matchType === "prefix" ? 0 : namespace.length - path.length
  return (
    from >= 0 &&
    path.length <= namespace.length &&
    path.every((label, at) => label === "*" || label === namespace[from + at])
  )
}

/**
 * As LangGraph's own stores of TypeScript compare: each field that is named, by value or by operators. A name that the
 * value does not have may be a path: `user.city`.
 */
const passes = ({ value }: Item, filter: SearchOperation["filter"]): boolean =>
  Object.entries(filter ?? {}).every(([name, wanted]) => fits(name in value ? value[name] : at(value, name), wanted))

const at = (value: unknown, path: string): unknown =>
  path
    .split(".")
    .reduce<unknown>(
      (part, name) => (typeof part === "object" && part !== null ? (part as Record<string, unknown>)[name] : undefined),
      value
    )

const fits = (value: unknown, wanted: unknown): boolean => {
  if (typeof wanted !== "object" || wanted === null || !Object.keys(wanted).every((name) => name in operators))
    return value === wanted
  return Object.entries(wanted).every(([name, operand]) => operators[name]!(value, operand))
}

const operators: Readonly<Record<string, (value: unknown, operand: unknown) => boolean>> = {
  $eq: (value, operand) => value === operand,
  $ne: (value, operand) => value !== operand,
  $gt: (value, operand) => Number(value) > Number(operand),
  $gte: (value, operand) => Number(value) >= Number(operand),
  $lt: (value, operand) => Number(value) < Number(operand),
  $lte: (value, operand) => Number(value) <= Number(operand),
  $in: (value, operand) => Array.isArray(operand) && operand.includes(value),
  $nin: (value, operand) => !Array.isArray(operand) || !operand.includes(value)
}
