/**
 * `muniment memories`: one memory by its id: its versions, an older one restored, feedback on it; and the feedback of an
 * account as cases for `muniment eval`.
 */
import { Console, Effect, FileSystem } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Memory } from "@muniment/client/Muniment"
import { CommandFailed, commandFailed } from "../CommandFailed.ts"
import { memoryLine, shownText, table, timeText } from "../ShownText.ts"
import { pathFlag } from "../InputFile.ts"
import { ask, callerHere } from "./caller.ts"
import { callerFlags, flags, optionalText, whereGiven } from "./flags.ts"
import type { QueryCase } from "../evaluation/CaseFiles.ts"

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
