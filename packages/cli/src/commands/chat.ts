/**
 * `muniment chat`: a session that shows what memory does. Each line is a message of a conversation: what is recalled for
 * it is shown first, then what it made the service remember. No language model answers.
 */
import { Clock, Console, Effect, Option, Stdio, Stream, Terminal } from "effect"
import { Command, Flag } from "effect/cli"
import type { Muniment } from "@muniment/client/Muniment"
import { Limits } from "@muniment/domain/Limits"
import { commandFailed } from "../CommandFailed.ts"
import { memoryLine } from "../Terminal.ts"
import { MessageLines } from "../InputFile.ts"
import { ask, callerHere } from "./clients.ts"
import { callerFlags, flags } from "./flags.ts"
import { rememberedText, saidBy, scopeOf } from "./memories.ts"

const recalledMax = 5
const prompt = "> "
const end = "/quit"

export const chat = Command.make(
  "chat",
  {
    agent: Flag.String("agent").pipe(Flag.withDescription("Agent whose memory it is"), Flag.withDefault("assistant")),
    subject: Flag.String("subject").pipe(Flag.withDescription("Who is speaking"), Flag.optional),
    thread: Flag.String("thread").pipe(
      Flag.withDescription("Conversation to go on with; a new one by default"),
      Flag.optional
    ),
    ...callerFlags,
    json: flags.json
  },
  Effect.fn("chat")(function* ({ agent: agentId, json, subject, thread, ...given }) {
    const muniment = yield* callerHere(given)
    const begun = `chat-${(yield* Clock.currentTimeMillis).toString(36)}`
    const threadId = Option.getOrElse(thread, () => begun)
    const scope = { ...scopeOf({ agent: Option.some(agentId), subject, thread: Option.some(threadId) }), agentId }
    const { stdin, stdinIsTerminal } = yield* Stdio.Stdio
    const terminal = yield* Terminal.Terminal
    const isShown = (yield* stdinIsTerminal) && !json
    const invite = isShown ? terminal.display(prompt) : Effect.void
    if (isShown) yield* Console.log(`Thread ${threadId} of agent ${agentId}. ${end} or Ctrl-D ends it.`)
    yield* invite
    const lines = new MessageLines(Limits.requestBodyBytesMax)
    yield* stdin.pipe(
      Stream.flatMap((chunk) => Stream.fromIterable(lines.push(chunk))),
      Stream.concat(Stream.suspend(() => Stream.fromIterable(lines.end()))),
      Stream.map((line) => (line === undefined ? "" : new TextDecoder().decode(line).trim())),
      Stream.takeWhile((line) => line !== end),
      Stream.filter((line) => line !== ""),
      Stream.runForEach((line) =>
        turn(muniment, scope, line).pipe(
          Effect.flatMap((outcome) => Console.log(json ? JSON.stringify(outcome) : outcomeText(outcome))),
          Effect.andThen(invite)
        )
      ),
      Effect.mapError(commandFailed)
    )
  })
).pipe(
  Command.withDescription("Talk to a memory: see what each message recalls, and what is remembered of it"),
  Command.withExamples([
    { command: "muniment chat --subject alice", description: "A conversation at a terminal" },
    { command: "echo 'I moved to Oslo' | muniment chat --json", description: "One message, for a program" }
  ])
)

interface Scope {
  readonly agentId: string
  readonly subjectId?: string
  readonly threadId?: string
}

/** Recalls before it remembers, so that a message does not find itself; in every thread of its subject. */
const turn = Effect.fnUntraced(function* (muniment: Muniment, scope: Scope, message: string) {
  const { threadId: _, ...everywhere } = scope
  const { memories } = yield* ask((signal) =>
    muniment.search({ query: message, limit: recalledMax, ...everywhere }, { signal })
  )
  const remembered = yield* ask((signal) => muniment.create({ ...scope, ...saidBy(message) }, { signal }))
  return { message, recalled: memories, remembered }
})

type Outcome = Effect.Success<ReturnType<typeof turn>>

const outcomeText = ({ recalled, remembered }: Outcome): string =>
  [
    recalled.length === 0 ? "Nothing recalled." : "Recalled:",
    ...recalled.map((memory) => `  ${memory.quality.relevance.toFixed(3)}  ${memoryLine(memory)}`),
    "Remembered:",
    ...rememberedText(remembered)
      .split("\n")
      .map((line) => `  ${line}`)
  ].join("\n")
