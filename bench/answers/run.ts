/**
 * Search mode `answer` on conversations that were imported by extraction, over HTTP, by a real server:
 * whether an answer says the expected fact, whether it says that nothing is known when nothing is, and
 * whether every citation checks out. `--help` names the options.
 */
import { randomUUID } from "node:crypto"
import { parseArgs } from "node:util"
import { readStatement } from "@muniment/insight/answers/MemoryStatement"
import { read, saysAll } from "../extraction/Wordings.ts"
import { answerHelp } from "../Usage.ts"
import type { LabelledQuestion } from "../extraction/LabelledSet.ts"
import { type Part, readAnswerSet } from "./AnswerSet.ts"
import { openService, type Service, type ServiceAnswer, type StoredMemory } from "./Service.ts"

const usage = `node bench/answers/run.ts [--part dev|check|all] [--failures] [--url URL --key KEY]

Imports the conversations of test/vectors/questions and asks their questions in mode \`answer\`.

  --part     the part to play (all); answers are tuned on dev alone
  --failures name every question that was not answered as its label says
  --url      a running service instead of one started here; needs --key
  --key      the key to call it with`

interface Played {
  readonly label: LabelledQuestion
  readonly answer: ServiceAnswer
  /** Some memory of the conversation says the expected fact. */
  readonly isKnown: boolean
  readonly isRight: boolean
  readonly isCitedWell: boolean
  readonly millis: number
}

const main = async (): Promise<void> => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      part: { type: "string", default: "all" },
      failures: { type: "boolean", default: false },
      url: { type: "string" },
      key: { type: "string" }
    }
  })
  if (!isPart(values.part)) throw new Error(`usage: ${usage}`)
  const service = await openService(values.url, values.key)
  try {
    const played = await play(service, values.part)
    if (values.failures) printFailures(played)
    report(played)
  } finally {
    await service.stop()
  }
}

const isPart = (name: string): name is Part | "all" => name === "dev" || name === "check" || name === "all"

const play = async (service: Service, part: Part | "all"): Promise<ReadonlyArray<Played>> => {
  const { conversations, questions } = readAnswerSet(part)
  // A running service may have been asked before.
  const run = randomUUID().slice(0, 8)
  const played: Array<Played> = []
  for (const conversation of conversations) {
    const agentId = `${conversation.id}-${run}`
    const memories = await service.importConversation(agentId, conversation)
    for (const label of questions.filter(({ conversationId }) => conversationId === conversation.id)) {
      const startedAt = performance.now()
      const answer = await service.ask(agentId, label.question)
      played.push(judge(label, answer, memories, performance.now() - startedAt))
    }
  }
  return played
}

const judge = (
  label: LabelledQuestion,
  answer: ServiceAnswer,
  memories: ReadonlyArray<StoredMemory>,
  millis: number
): Played => {
  const { expected, without, answerable } = label
  const says = (text: string): boolean => saysAll(read(text), expected, without)
  const returned = new Set(answer.memories.map(({ id }) => id))
  return {
    label,
    answer,
    isKnown: answerable && memories.some((memory) => says(statementOf(memory))),
    isRight: answerable ? answer.grounded && says(answer.answer) : !answer.grounded,
    isCitedWell: answer.citations.every((id) => returned.has(id)) && answer.grounded === answer.citations.length > 0,
    millis
  }
}

const statementOf = ({ id, kind, data, context }: StoredMemory): string =>
  readStatement({ id, kind, data, when: context?.when, createdAt: 0, relevance: 0 }).text

const report = (played: ReadonlyArray<Played>): void => {
  const answerable = played.filter(({ label }) => label.answerable)
  const known = answerable.filter(({ isKnown }) => isKnown)
  const right = answerable.filter(({ isRight }) => isRight)
  const unanswerable = played.filter(({ label }) => !label.answerable)
  const millis = played.map((one) => one.millis).sort((left, right) => left - right)
  const wrong = answerable.filter(({ isRight, answer }) => !isRight && answer.grounded)
  console.log(`answerable: the answer says the expected fact   ${share(right.length, answerable.length)}`)
  console.log(`  some memory says it                           ${share(known.length, answerable.length)}`)
  console.log(
    `  the answer says it, of these                  ${share(known.filter(({ isRight }) => isRight).length, known.length)}`
  )
  console.log(`  something else is said                        ${share(wrong.length, answerable.length)}`)
  console.log(
    `unanswerable: says that nothing is known        ${share(unanswerable.filter(({ isRight }) => isRight).length, unanswerable.length)}`
  )
  console.log(
    `citations check out                             ${share(played.filter(({ isCitedWell }) => isCitedWell).length, played.length)}`
  )
  console.log(
    `method                                          ${[...new Set(played.map(({ answer }) => answer.method))]}`
  )
  console.log(
    `milliseconds a question, over HTTP              p50 ${at(millis, 0.5).toFixed(1)}, p95 ${at(millis, 0.95).toFixed(1)}`
  )
}

const share = (part: number, whole: number): string =>
  `${part} of ${whole}${whole === 0 ? "" : ` (${((part / whole) * 100).toFixed(0)} %)`}`

const at = (sorted: ReadonlyArray<number>, quantile: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * quantile))] ?? 0

const printFailures = (played: ReadonlyArray<Played>): void => {
  for (const { label, answer, isKnown, isRight, isCitedWell } of played) {
    if (isRight && isCitedWell) continue
    const reason = !isCitedWell
      ? "cited badly"
      : !label.answerable
        ? "unanswerable"
        : isKnown
          ? "known"
          : "no memory says it"
    console.log(`${label.conversationId} [${reason}] ${label.question}\n    ${answer.answer}`)
  }
}

await main()
