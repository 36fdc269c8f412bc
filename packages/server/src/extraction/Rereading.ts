/**
 * Stored conversations read again by the language model, for those that only rules have read: their messages become
 * pending readings of one prompt each, oldest first, which `PendingReadings` carries out behind all others.
 *
 * Invariants: a message is read again once by each model, however often this runs and wherever it was cut off; not while
 * it is to be read anyway, nor if the model could read it when it came; messages that are gone, and what tools said, are not.
 */
import { Effect, Option } from "effect"
import type { Account } from "@muniment/domain/Account"
import type { RereadAccount } from "@muniment/domain/api/AdminApi"
import { dayOf } from "@muniment/domain/CalendarDay"
import { Conflict } from "@muniment/domain/Errors"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import {
  againPrefix,
  type ConversationScope,
  type PendingMessage,
  type PendingReading,
  scopeText
} from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { Extractor } from "@muniment/insight/extraction/Extractor"
import { contextTurnsMax, cutInWindows } from "@muniment/insight/prompts/ConversationWindows"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { KnownKinds } from "../memories/KnownKinds.ts"
import { turnOf, saidAt, storedMessage } from "./ConversationMessages.ts"
import type { LlmSettings } from "./LanguageModelSettings.ts"
import type { RequestReadings } from "./PendingReadings.ts"
import { atOnceMark, leftOutMark } from "./ThreadReading.ts"

interface RereadQuery {
  readonly accounts: ReadonlyArray<Account>
  readonly agentId: string | undefined
  /** Messages that were said from then on, milliseconds. */
  readonly sinceMillis: number | undefined
  readonly isDryRun: boolean
}

export type Rereading = Effect.Success<ReturnType<typeof makeRereading>>

export const makeRereading = Effect.fnUntraced(function* (readings: RequestReadings, llm: LlmSettings | undefined) {
  const parts: Parts = {
    host: yield* NamespaceHost,
    directory: yield* NamespaceDirectory,
    extractor: yield* Extractor,
    kinds: yield* KnownKinds,
    readings
  }
  return Effect.fn("Rereading.reread")(function* (query: RereadQuery) {
    if (llm === undefined || llm.provider === "none") return yield* noModel
    const accounts: Array<RereadAccount> = []
    for (const account of query.accounts) {
      const work = yield* rereadAccount(parts, account, query)
      if (work.messages > 0) accounts.push({ account: account.name, ...work, ...costsOf(llm, work) })
    }
    const tokens = accounts.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0)
    const days = Math.ceil(tokens / llm.totalTokensPerDay)
    return { model: parts.extractor.name, accounts, days: Math.max(days, ...accounts.map((one) => one.days)) }
  })
})

interface Parts {
  readonly host: NamespaceHost["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly extractor: Extractor["Service"]
  readonly kinds: KnownKinds["Service"]
  readonly readings: RequestReadings
}

const noModel = Effect.fail(
  new Conflict({
    code: "no_language_model",
    error:
      "no language model is configured, and rules have read every conversation: set MUNIMENT_LLM_PROVIDER and MUNIMENT_LLM_MODEL, and restart"
  })
)

const nothing = { conversations: 0, messages: 0, calls: 0, inputTokens: 0, outputTokens: 0 }

const rereadAccount = Effect.fnUntraced(function* (parts: Parts, { id }: Account, query: RereadQuery) {
  const { directory, host, kinds, readings } = parts
  const schemas = yield* kinds.extractable(id)
  const work = { ...nothing }
  for (const namespace of directory.list(id, query.agentId)) {
    const portions = yield* portionsOf(parts, namespace, query.sinceMillis)
    const scopes = new Set<string>()
    for (const portion of portions) {
      const estimate = yield* estimateOf(parts, namespace, portion, schemas)
      if (estimate === undefined) continue
      scopes.add(scopeText(portion.scope))
      work.messages += portion.messages.length
      work.calls += estimate.calls
      work.inputTokens += estimate.inputTokens
      work.outputTokens += estimate.outputTokens
      if (query.isDryRun) continue
      const { scope } = portion
      const awaits = pendingOf(parts.extractor.name, portion)
      yield* host.ask(namespace, {
        _tag: "StoreMemories",
        memories: [],
        idempotency: undefined,
        conversation: { scope, processed: [], isForced: true, turns: [], summary: undefined, awaits }
      })
    }
    work.conversations += scopes.size
    if (scopes.size > 0 && !query.isDryRun) yield* readings.note(namespace)
  }
  return work
})

/** A stored message, without its words. */
interface Place {
  readonly id: string
  readonly key: string
  readonly position: number
  readonly length: number
  readonly saidMillis: number
  readonly expires: boolean
}

/** Part of a conversation that one prompt shows. */
interface Portion {
  readonly scope: ConversationScope
  /** Read before, and no news. */
  readonly context: ReadonlyArray<Place>
  readonly messages: ReadonlyArray<Place>
}

/** Portions of all conversations in the order in which they were said, so that a later one replaces an earlier one. */
const portionsOf = Effect.fnUntraced(function* (parts: Parts, namespace: NamespaceKey, sinceMillis = -Infinity) {
  const { host } = parts
  const waiting = yield* pendingKeys(parts, namespace)
  const portions: Array<Portion> = []
  for (const [scope, places] of (yield* threadsOf(parts, namespace)).values()) {
    const marks = places.flatMap(({ key }) => marksOf(parts, key))
    const read = yield* host.answer(namespace, { _tag: "Processed", scope, keys: marks })
    const isDue = ({ key, saidMillis }: Place): boolean => {
      const [own, atOnce, again, leftOut] = marksOf(parts, key).map((mark) => read.has(mark))
      const isRead = again === true || (own === true && atOnce === true && leftOut !== true)
      return saidMillis >= sinceMillis && !isRead && !waiting.has(waitingKey(scope, key))
    }
    portions.push(...portionsIn(scope, places, isDue, ({ key }) => read.has(key)))
    yield* Effect.yieldNow
  }
  return portions.toSorted((left, right) => left.messages[0]!.saidMillis - right.messages[0]!.saidMillis)
})

/**
 * Under which a message counts as read: as it came, by rules before the model that then read it, by the model again; and
 * the one by which the model could not read it.
 */
const marksOf = ({ extractor: { name } }: Parts, key: string) =>
  [key, atOnceMark(name, key), readAgainMark(name, key), leftOutMark(name, key)] as const

const readAgainMark = (model: string, key: string): string => sha256Hex(`again ${model} ${key}`)

/** One prompt each. What ends and what stays are not mixed: memories end with their messages. */
const portionsIn = (
  scope: ConversationScope,
  places: ReadonlyArray<Place>,
  isDue: (place: Place) => boolean,
  isRead: (place: Place) => boolean
): ReadonlyArray<Portion> => {
  const due = places.flatMap((place, at) => (isDue(place) ? [{ ...place, at }] : []))
  const windows = cutInWindows(
    due,
    ({ length }) => length,
    (one, before) => one.expires !== before.expires
  )
  return windows.map((messages) => {
    const { at, expires } = messages[0]!
    const before = places.slice(Math.max(0, at - contextTurnsMax), at)
    return { scope, messages, context: before.filter((one) => one.expires === expires && isRead(one)) }
  })
}

/** Rows that are looked at at once. */
const pageLength = 500

/** Kept messages by conversation, in order, but those of tools. */
const threadsOf = Effect.fnUntraced(function* ({ host }: Parts, namespace: NamespaceKey) {
  const threads = new Map<string, readonly [ConversationScope, Array<Place>]>()
  const limit = pageLength
  let [afterSeq, isEnd] = [-1, false]
  while (!isEnd) {
    const { lastSeq, versions } = yield* host.answer(namespace, { _tag: "Inserted", afterSeq, limit })
    for (const memory of versions) {
      const { data, expiresAt, id, origin, position = 0, subjectId, threadId } = memory
      const key = memory.sources?.[0]?.key
      if (origin !== "conversation" || key === undefined || data["role"] === "tool") continue
      const scope = { subjectId, threadId }
      const [, places] = threads.get(scopeText(scope)) ?? [scope, new Array<Place>()]
      places.push({
        id,
        key,
        position,
        length: String(data["text"]).length,
        saidMillis: saidAt(memory),
        expires: expiresAt !== undefined
      })
      threads.set(scopeText(scope), [scope, places])
    }
    isEnd = lastSeq === undefined
    afterSeq = lastSeq ?? afterSeq
  }
  for (const [, places] of threads.values()) places.sort((left, right) => left.position - right.position)
  return threads
})

const pendingKeys = Effect.fnUntraced(function* ({ host }: Parts, namespace: NamespaceKey) {
  const keys = new Set<string>()
  let [after, isEnd] = [0, false]
  while (!isEnd) {
    const page = yield* host.answer(namespace, { _tag: "PendingReadings", limit: pageLength, after })
    for (const { messages, scope } of page) for (const { key } of messages) keys.add(waitingKey(scope, key))
    isEnd = page.length < pageLength
    after = page.at(-1)?.place ?? after
  }
  return keys
})

const waitingKey = (scope: ConversationScope, key: string): string => `${key} ${scopeText(scope)}`

const pendingOf = (model: string, { context, messages, scope }: Portion): PendingReading => {
  const read = context.map(({ key }): PendingMessage => ({ key, readKey: key }))
  const unread = messages.map(({ key }): PendingMessage => ({ key, readKey: readAgainMark(model, key) }))
  return {
    id: `${againPrefix}${sha256Hex(JSON.stringify([scopeText(scope), ...unread.map(({ readKey }) => readKey)]))}`,
    messages: [...read, ...unread],
    kinds: undefined,
    conversationDate: dayOf(messages[0]!.saidMillis),
    // That of the messages, as it is when they are read.
    expiresAt: undefined
  }
}

/** Undefined: a model does not read for this account, or nothing is left of the messages. */
const estimateOf = Effect.fnUntraced(function* (
  { extractor, host }: Parts,
  namespace: NamespaceKey,
  { context, messages }: Portion,
  schemas: ReadonlyArray<MemorySchema>
) {
  const found = Effect.fnUntraced(function* (places: ReadonlyArray<Place>) {
    const all = yield* Effect.forEach(places, ({ id, key }) =>
      Effect.map(
        host.answer(namespace, { _tag: "Find", id }),
        (memory) => memory && turnOf(storedMessage(memory, { key, readKey: key }, true))
      )
    )
    return all.filter((turn) => turn !== undefined)
  })
  const turns = yield* found(messages)
  if (turns.length === 0) return undefined
  return yield* extractor.estimate({
    account: namespace.account,
    kinds: schemas,
    messages: turns,
    context: yield* found(context),
    summary: undefined,
    conversationDate: dayOf(messages[0]!.saidMillis)
  })
})

/** In dollars and credits where tokens have prices; the days of the account's own budgets. */
const costsOf = (llm: LlmSettings, { inputTokens, outputTokens }: typeof nothing) => {
  const cost = (
    { input, output }: { readonly input: number; readonly output: number },
    tokens: number
  ): number | null => (input === 0 && output === 0 ? null : (inputTokens * input + outputTokens * output) / tokens)
  const usd = cost(
    {
      input: Option.getOrElse(llm.inputUsdPerMillion, () => 0),
      output: Option.getOrElse(llm.outputUsdPerMillion, () => 0)
    },
    1_000_000
  )
  const perDay = Option.getOrElse(llm.costPerDayUsd, () => Infinity)
  return {
    usd,
    credits: cost({ input: llm.inputCreditsPer1000, output: llm.outputCreditsPer1000 }, 1_000),
    days: Math.ceil(Math.max((inputTokens + outputTokens) / llm.tokensPerDay, (usd ?? 0) / perDay))
  }
}
