/**
 * `muniment search`, `context`, `remember` and `forget`: memories of an account from a terminal, with the key of its
 * caller: from a flag, the environment or a profile.
 */
import { Console, Effect, FileSystem, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Answer, Body, ContextAnswers, SearchAnswers } from "@muniment/client/Contract"
import type { Memory } from "@muniment/client/Muniment"
import { CommandFailed, commandFailed } from "../CommandFailed.ts"
import type { QueryCase } from "../evaluation/CaseFiles.ts"
import { pathFlag } from "../InputFile.ts"
import { memoryLine, shownText, table, timeText } from "../Terminal.ts"
import { ask, callerHere } from "./clients.ts"
import { callerFlags, flags, optionalText, whereGiven } from "./flags.ts"

const hitsShown = 10
const tokensDefault = 1_500

const agent = Flag.String("agent").pipe(Flag.withDescription("Agent of the memories"))
const scopeFlags = {
  subject: optionalText("subject", "Whom the memories are about"),
  thread: optionalText("thread", "Conversation they come from")
}

/** Agent, subject and thread as the service names them; only those that are given. */
export const scopeOf = ({ agent: agentId, subject, thread }: ScopeFlags) => ({
  ...whereGiven({ agentId, subjectId: subject, threadId: thread })
})

interface ScopeFlags {
  readonly agent: Option.Option<string>
  readonly subject: Option.Option<string>
  readonly thread: Option.Option<string>
}

export const search = Command.make(
  "search",
  {
    query: Argument.String("query").pipe(Argument.withDescription("What is looked for, in any words")),
    agent: Flag.optional(agent),
    ...scopeFlags,
    kind: optionalText("kind", "Only memories of this kind"),
    where: optionalText("where", "Conditions on data and metadata, as JSON"),
    asOf: optionalText("as-of", "What was known then: an ISO 8601 date-time with its offset, or milliseconds"),
    limit: Flag.Int("limit").pipe(Flag.withDescription("At most so many"), Flag.withDefault(hitsShown)),
    context: Flag.Int("context").pipe(
      Flag.withDescription("Turns around each message that was found, so many on each side"),
      Flag.withDefault(0)
    ),
    rerank: Flag.Boolean("rerank").pipe(
      Flag.withDescription("The service's language model puts the best hits in order, for its tokens"),
      Flag.withDefault(false)
    ),
    ...callerFlags,
    json: flags.json
  },
  Effect.fn("search")(function* ({ asOf, context: eachSide, json, kind, limit, query, rerank, where, ...given }) {
    const muniment = yield* callerHere(given)
    const filters = {
      ...scopeOf(given),
      ...whereGiven({ kind, where, asOf }),
      ...(eachSide > 0 && { context: eachSide }),
      ...(rerank && { rerank: "model" as const })
    }
    const found = yield* ask((signal) => muniment.search({ query, limit, ...filters }, { signal }))
    if (json) return yield* Console.log(JSON.stringify(found))
    if (found.rerankProblem !== undefined) yield* Console.error(`In the usual order: ${found.rerankProblem.message}.`)
    const lines = found.memories.flatMap(hitLines)
    return yield* Console.log(lines.length === 0 ? "Nothing found." : lines.join("\n"))
  })
).pipe(
  Command.withDescription("Find memories by meaning and by words; the best first, with their relevance from 0 to 1"),
  Command.withExamples([{ command: 'muniment search "where does Alice live"', description: "In all of your agents" }])
)

/** With the turns around it, indented. */
const hitLines = (hit: SearchAnswers["llm"]["memories"][number]): ReadonlyArray<string> => {
  const turns = (hit.context.around ?? []).map(({ name, offset, role, text }) => ({
    offset,
    line: `       ${shownText(`${name ?? role}: ${text}`)}`
  }))
  const linesOf = (side: number) => turns.flatMap(({ line, offset }) => (Math.sign(offset) === side ? [line] : []))
  return [...linesOf(-1), `${hit.quality.relevance.toFixed(3)}  ${memoryLine(hit)}`, ...linesOf(1)]
}

export const context = Command.make(
  "context",
  {
    query: Argument.String("query").pipe(
      Argument.withDescription("What the prompt asks; without it the profile alone"),
      Argument.optional
    ),
    agent: Flag.optional(agent),
    ...scopeFlags,
    tokens: Flag.Int("tokens").pipe(Flag.withDescription("Most tokens of the text"), Flag.withDefault(tokensDefault)),
    timeZone: optionalText("time-zone", "IANA time zone of the days in the text"),
    ...callerFlags,
    json: flags.json
  },
  Effect.fn("context")(function* ({ json, query, timeZone, tokens, ...given }) {
    const muniment = yield* callerHere(given)
    const body: Body<"context"> = {
      ...scopeOf(given),
      ...whereGiven({ query, timeZone }),
      maxTokens: tokens,
      format: json ? "json" : "text"
    }
    const handed = yield* ask((signal) => muniment.context(body, { signal }))
    return yield* Console.log(json ? JSON.stringify(handed) : textOf(handed).trimEnd() || "Nothing is known.")
  })
).pipe(
  Command.withDescription("What an agent is handed for its prompt: who a person is, and what bears on a question"),
  Command.withExamples([
    {
      command: 'muniment context --agent assistant --subject user-42 "any plans for May?"',
      description: "As it would be pasted into the prompt"
    }
  ])
)

const textOf = (handed: ContextAnswers[keyof ContextAnswers]): string => ("text" in handed ? handed.text : "")

/** Who looks on wants to see what was read, also where the reader is busy. */
export const saidBy = (text: string) =>
  ({ conversation: [{ role: "user", content: text }], wait: "extraction" }) as const

export const remember = Command.make(
  "remember",
  {
    text: Argument.String("text").pipe(Argument.withDescription("What to remember; with --kind, its data as JSON")),
    agent: agent.pipe(Flag.withDefault("assistant")),
    ...scopeFlags,
    kind: optionalText("kind", "Store the text, a JSON object, as a memory of this kind"),
    ttl: optionalText("ttl", "How long it lives, such as 30d"),
    ...callerFlags,
    json: flags.json
  },
  Effect.fn("remember")(function* ({ agent: agentId, json, kind, text, ttl, ...given }) {
    const muniment = yield* callerHere(given)
    const scope = { ...scopeOf({ agent: Option.some(agentId), ...given }), agentId }
    const content = Option.isSome(kind) ? { memories: [{ kind: kind.value, data: yield* dataOf(text) }] } : saidBy(text)
    const body: Body<"create"> = { ...scope, ...content, ...whereGiven({ ttl }) }
    const answer = yield* ask((signal) => muniment.create(body, { signal }))
    return yield* Console.log(json ? JSON.stringify(answer) : rememberedText(answer))
  })
).pipe(
  Command.withDescription("Remember what a text says, and the text itself; or a memory of a kind"),
  Command.withExamples([
    { command: 'muniment remember "My name is Alice and I live in Seattle"', description: "Facts are read out of it" },
    {
      command: `muniment remember --kind factual_memory '{"subject": "Alice", "fact": "Alice lives in Seattle"}'`,
      description: "A memory as it is"
    }
  ])
)

/** Text on what `create` stored, and what it did not and why. */
export const rememberedText = (answer: Answer<"create">): string => {
  const { created, extraction, extractionProblem, messages, rejected = [], updated } = answer
  const lines = [
    ...created.map((memory) => `+ ${memoryLine(memory)}`),
    ...updated.map((memory) => `~ ${memoryLine(memory)}`),
    ...rejected.map(({ message, reason }) => `- not stored, ${reason}: ${message}`),
    ...(messages === undefined ? [] : [`${messages.stored} of the messages stored, ${messages.known} known before`]),
    ...(extraction === "pending" ? ["What they say is read later."] : []),
    ...(extractionProblem === undefined ? [] : [`Only rules have read them: ${extractionProblem.message}.`])
  ]
  const isWithoutFacts = created.length + updated.length + rejected.length === 0 && extraction === "done"
  return [...lines, ...(isWithoutFacts ? ["No facts were read out of it."] : [])].join("\n")
}

const dataOf = Effect.fnUntraced(function* (text: string) {
  const data = yield* Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: () => new CommandFailed({ reason: "With --kind, the text is the memory's data as a JSON object." })
  })
  if (typeof data === "object" && data !== null && !Array.isArray(data)) return data as NewData
  return yield* new CommandFailed({ reason: "With --kind, the text is the memory's data as a JSON object." })
})

type NewData = NonNullable<Body<"create">["memories"]>[number]["data"]

export const forget = Command.make(
  "forget",
  {
    ids: Argument.String("id").pipe(Argument.withDescription("Memories to delete"), Argument.variadic()),
    agent: Flag.optional(agent),
    ...scopeFlags,
    kind: optionalText("kind", "Only memories of this kind"),
    yes: Flag.Boolean("yes").pipe(
      Flag.withDescription("Delete what the filters match; without it, only count it"),
      Flag.withDefault(false)
    ),
    ...callerFlags,
    json: flags.json
  },
  Effect.fn("forget")(function* ({ ids, json, kind, yes, ...given }) {
    const muniment = yield* callerHere(given)
    const filters = { ...scopeOf(given), ...whereGiven({ kind }) }
    const isFiltered = Object.keys(filters).length > 0
    if (ids.length > 0 === isFiltered) {
      return yield* new CommandFailed({ reason: "Give the ids of memories, or filters such as --agent; not both." })
    }
    const dryRun = isFiltered && !yes
    const selection: Body<"batchDelete"> = isFiltered ? { filters, dryRun, versions: "all" } : { ids, versions: "all" }
    const { deleted } = yield* ask((signal) => muniment.batchDelete(selection, { signal }))
    if (json) return yield* Console.log(JSON.stringify({ deleted, dryRun }))
    return yield* Console.log(dryRun ? `${deleted} would be deleted; give --yes to do it.` : `${deleted} deleted.`)
  })
).pipe(
  Command.withDescription("Delete memories with all their versions, by id or by filter"),
  Command.withExamples([
    { command: "muniment forget --subject user-42", description: "Counts what is known about a person" },
    { command: "muniment forget --subject user-42 --yes", description: "Deletes it" }
  ])
)

const id = Argument.String("id").pipe(Argument.withDescription("Id of the memory, as `search` shows it"))

const history = Command.make(
  "history",
  {
    id,
    limit: Flag.Int("limit").pipe(Flag.withDescription("At most so many versions, 1 to 100"), Flag.withDefault(50)),
    ...callerFlags,
    json: flags.json
  },
  Effect.fn("memories.history")(function* ({ id: of, json, limit, ...given }) {
    const muniment = yield* callerHere(given)
    const found = yield* ask((signal) => muniment.history(of, { limit }, { signal }))
    if (json) return yield* Console.log(JSON.stringify(found))
    const rows = found.versions.map(({ at, by = "-", how, memory }) => [
      timeText(at),
      how,
      shownText(by),
      saidText(memory),
      memoryLine(memory)
    ])
    return yield* Console.log(table([["AT (UTC)", "HOW", "BY", "USEFUL", "MEMORY"], ...rows]))
  })
).pipe(
  Command.withDescription("The versions of a memory, newest first: how each came about, and whether it was of use"),
  Command.withExamples([
    { command: "muniment memories history mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T", description: "By the id of any version" }
  ])
)

/** `3 of 4`: how often callers said that it was of use. */
const saidText = ({ feedback = [] }: Pick<Memory, "feedback">): string =>
  feedback.length === 0 ? "-" : `${feedback.filter(({ useful }) => useful).length} of ${feedback.length}`

const restore = Command.make(
  "restore",
  { id, ...callerFlags, json: flags.json },
  Effect.fn("memories.restore")(function* ({ id: of, json, ...given }) {
    const muniment = yield* callerHere(given)
    const { memory } = yield* ask((signal) => muniment.restore(of, { signal }))
    if (json) return yield* Console.log(JSON.stringify({ memory }))
    return yield* Console.log(`${memory.id === of ? "It is the latest" : "Restored"}: ${memoryLine(memory)}`)
  })
).pipe(
  Command.withDescription("Make an older version of a memory the latest one, as a new version"),
  Command.withExamples([
    {
      command: "muniment memories restore mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T",
      description: "An id that `memories history` shows"
    }
  ])
)

const feedback = Command.make(
  "feedback",
  {
    id,
    said: Argument.Literals("said", ["useful", "not_useful"]).pipe(Argument.withDescription("useful or not_useful")),
    query: optionalText("query", "What the memory was found for"),
    ...callerFlags,
    json: flags.json
  },
  Effect.fn("memories.feedback")(function* ({ id: of, json, query, said, ...given }) {
    const muniment = yield* callerHere(given)
    const body = { useful: said === "useful", ...whereGiven({ query }) }
    const { memory } = yield* ask((signal) => muniment.feedback(of, body, { signal }))
    return yield* Console.log(json ? JSON.stringify({ memory }) : `Kept; useful ${saidText(memory)} times.`)
  })
).pipe(
  Command.withDescription("Say whether a memory was of use; it is kept with the memory and moves nothing in searches"),
  Command.withExamples([
    {
      command: 'muniment memories feedback mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T useful --query "where does Alice live"',
      description: "For which query"
    }
  ])
)

const ownerOnly = 0o600

const cases = Command.make(
  "cases",
  {
    agent: optionalText("agent", "Only memories of this agent"),
    subject: optionalText("subject", "Only memories about this subject"),
    out: pathFlag("out", "File to write").pipe(Flag.withAlias("o"), Flag.withDefault("cases.jsonl")),
    ...callerFlags,
    json: flags.json
  },
  Effect.fn("memories.cases")(function* ({ agent, json, out, subject, ...given }) {
    const muniment = yield* callerHere(given)
    const filters = {
      ...whereGiven({ agentId: agent, subjectId: subject })
    }
    const judged: Array<Memory> = []
    yield* ask(async (signal) => {
      for await (const memory of muniment.listAll({ ...filters, feedback: "useful", limit: 100 }, { signal }))
        judged.push(memory)
    })
    const made = casesOfFeedback(judged)
    if (made.length === 0) {
      return yield* new CommandFailed({ reason: "No feedback names a query for which a memory was useful." })
    }
    const lines = made.map((one) => `${JSON.stringify(one)}\n`).join("")
    const files = yield* FileSystem.FileSystem
    yield* Effect.mapError(files.writeFileString(out, lines, { mode: ownerOnly }), commandFailed)
    return yield* Console.log(
      json
        ? JSON.stringify({ cases: made.length, file: out })
        : `${made.length} ${made.length === 1 ? "case" : "cases"} written to ${shownText(out)}.`
    )
  })
).pipe(
  Command.withDescription("Write feedback as cases for `muniment eval`: queries with the memories that were useful"),
  Command.withExamples([
    {
      command: "muniment memories cases --agent assistant --out cases.jsonl",
      description: "Then: muniment eval --cases cases.jsonl"
    }
  ])
)

/**
 * `muniment memories`: one memory by its id: its versions, an older one restored, feedback on it; and the feedback of an
 * account as cases for `muniment eval`.
 */
export const memoriesById = Command.make("memories").pipe(
  Command.withDescription("Versions of a memory, feedback on it, and feedback as cases for `muniment eval`"),
  Command.withSubcommands([history, restore, feedback, cases])
)

type Judged = Pick<Memory, "feedback" | "id" | "metadata">

/**
 * Cases of an evaluation made of what callers said of memories (docs/eval.md): for each query the memories that were of
 * use. A query of which none was makes no case: the simple form does not say what must not be found.
 *
 * One for each query within an agent and a subject, in the order of the memories.
 */
const casesOfFeedback = (memories: ReadonlyArray<Judged>): ReadonlyArray<QueryCase> => {
  const cases = new Map<string, QueryCase>()
  for (const { feedback = [], id, metadata } of memories) {
    const { agentId, subjectId } = metadata
    for (const { query, useful } of feedback) {
      if (query === undefined || !useful) continue
      const place = JSON.stringify([query, agentId, subjectId])
      const expected = [...(cases.get(place)?.expected ?? []), id]
      cases.set(place, { query, expected, ...named({ agentId, subjectId }) })
    }
  }
  return [...cases.values()]
}

const named = (fields: Readonly<Record<"agentId" | "subjectId", unknown>>): Pick<QueryCase, "agentId" | "subjectId"> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value === "string"))
