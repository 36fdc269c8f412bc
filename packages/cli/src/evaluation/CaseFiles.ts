/**
 * Files of cases: conversations with questions and facts, one JSON file each, or queries with what they should find, as
 * JSON or JSONL (docs/eval.md). Every complaint names the file, and of JSONL the line.
 */
import { Effect, FileSystem, Path, Result, Schema } from "effect"
import { CommandFailed, commandFailed } from "../CommandFailed.ts"

const Texts = Schema.Array(Schema.String)

const Message = Schema.Struct({
  id: Schema.String,
  role: Schema.Literals(["user", "assistant", "system", "tool"]),
  content: Schema.String,
  name: Schema.optionalKey(Schema.String),
  sentAt: Schema.optionalKey(Schema.String)
})

const CaseQuestion = Schema.Struct({
  q: Schema.String,
  type: Schema.String,
  evidence: Schema.optionalKey(Texts),
  /** Regular expressions, one of which a right answer meets; none: nothing in the conversation answers. */
  answer: Texts,
  wrong: Schema.optionalKey(Texts),
  derived: Schema.optionalKey(Schema.Boolean),
  /** Somebody else's statement is all there is: to claim nothing is right too. */
  abstain: Schema.optionalKey(Schema.Boolean)
})
export type CaseQuestion = typeof CaseQuestion.Type

const CaseFact = Schema.Struct({
  about: Schema.String,
  /** Regular expressions, all of which the text of one memory meets. */
  says: Texts,
  /** False: a memory must never hold it. */
  true: Schema.Boolean
})
export type CaseFact = typeof CaseFact.Type

const Case = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  /** Who the role `user` is; null: people who speak under their names. */
  user: Schema.NullOr(Schema.String),
  /** The `now` of the questions. */
  asked: Schema.String,
  timeZone: Schema.String,
  messages: Schema.Array(Message),
  questions: Schema.Array(CaseQuestion),
  facts: Schema.Array(CaseFact)
})
export type Case = typeof Case.Type

/** A query to memories that the service holds already. */
const QueryCase = Schema.Struct({
  query: Schema.String,
  /** Ids of memories, or texts that a hit has among its own. */
  expected: Texts,
  agentId: Schema.optionalKey(Schema.String),
  subjectId: Schema.optionalKey(Schema.String),
  threadId: Schema.optionalKey(Schema.String),
  kind: Schema.optionalKey(Schema.String),
  now: Schema.optionalKey(Schema.String),
  timeZone: Schema.optionalKey(Schema.String)
})
export type QueryCase = typeof QueryCase.Type

export interface CaseSet {
  readonly conversations: ReadonlyArray<Case>
  readonly queries: ReadonlyArray<QueryCase>
}

/** Cases of a file, or of all `.json` and `.jsonl` files directly in a folder, in order of their names. */
export const readCases = Effect.fn("readCases")(function* (place: string) {
  const files = yield* FileSystem.FileSystem
  const { type } = yield* files.stat(place)
  const paths = type === "Directory" ? yield* filesIn(place) : [place]
  const sets: Array<CaseSet> = []
  for (const path of paths) {
    const read = casesOf(yield* files.readFileString(path), path)
    if (Result.isFailure(read)) return yield* new CommandFailed({ reason: read.failure })
    sets.push(read.success)
  }
  const found = { conversations: sets.flatMap((set) => set.conversations), queries: sets.flatMap((set) => set.queries) }
  if (found.conversations.length + found.queries.length === 0) {
    return yield* new CommandFailed({ reason: `${place} has no cases: no .json or .jsonl file holds one.` })
  }
  return found
}, Effect.mapError(commandFailed))

const filesIn = Effect.fnUntraced(function* (folder: string) {
  const [files, path] = [yield* FileSystem.FileSystem, yield* Path.Path]
  const names = yield* files.readDirectory(folder)
  return names
    .filter((name) => /\.jsonl?$/.test(name))
    .toSorted()
    .map((name) => path.join(folder, name))
})

/** The cases of a text; or what is wrong with it. */
const casesOf = (text: string, source: string): Result.Result<CaseSet, string> => {
  const conversations: Array<Case> = []
  const queries: Array<QueryCase> = []
  for (const { at, json } of elementsOf(text, source)) {
    if (json === undefined) return Result.fail(`${at} is not JSON.`)
    const isConversation = typeof json === "object" && json !== null && "messages" in json
    const read = isConversation ? added(decodeCase(json), conversations) : added(decodeQuery(json), queries)
    const fault = read ?? (isConversation ? faultOf(conversations.at(-1)!) : undefined)
    if (fault !== undefined) return Result.fail(`${at}: ${fault}`)
  }
  return Result.succeed({ conversations, queries })
}

/** Adds the case to `list`, or returns what is wrong with its form. */
const added = <A>(read: Result.Result<A, Schema.SchemaError>, list: Array<A>): string | undefined => {
  if (Result.isFailure(read)) return `it is no case: ${read.failure.message.replace(/\s+/g, " ")}`
  list.push(read.success)
  return undefined
}

const decodeCase = Schema.decodeUnknownResult(Case)
const decodeQuery = Schema.decodeUnknownResult(QueryCase)

interface Element {
  /** For complaints. */
  readonly at: string
  /** Undefined: it is none. */
  readonly json: unknown
}

/** Cases of a file that is JSON as a whole, else one of each line. */
const elementsOf = (text: string, source: string): ReadonlyArray<Element> => {
  const whole = jsonOf(text)
  if (Array.isArray(whole)) return whole.map((json, at) => ({ at: `${source}, element ${at + 1}`, json }))
  if (whole !== undefined || !source.endsWith(".jsonl")) return [{ at: source, json: whole }]
  return text
    .split("\n")
    .map((line, at) => ({ line, at: `${source}, line ${at + 1}` }))
    .filter(({ line }) => line.trim() !== "")
    .map(({ at, line }) => ({ at, json: jsonOf(line) }))
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Contradiction between a conversation's own parts. */
const faultOf = ({ facts, messages, questions }: Case): string | undefined => {
  const ids = new Set(messages.map(({ id }) => id))
  if (ids.size < messages.length) return "two messages have one id."
  for (const { answer, evidence = [], q, wrong = [] } of questions) {
    const lost = evidence.find((id) => !ids.has(id))
    if (lost !== undefined) return `there is no message ${lost}, the evidence of "${q}".`
    const bad = [...answer, ...wrong].find(isBroken)
    if (bad !== undefined) return `"${bad}", of "${q}", is no regular expression.`
  }
  const bad = facts.flatMap(({ says }) => says).find(isBroken)
  return bad === undefined ? undefined : `"${bad}" is no regular expression.`
}

const isBroken = (pattern: string): boolean => {
  try {
    void new RegExp(pattern, "is")
    return false
  } catch {
    return true
  }
}
