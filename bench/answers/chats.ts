/**
 * Search mode `answer` on conversations between people, sent through `conversation` to a real server: how many
 * questions are answered, how many of these answers are right, and how often an answer that is in no message is
 * grounded. `--help` names the options.
 */
import { randomUUID } from "node:crypto"
import { parseArgs } from "node:util"
import { partAsked } from "@muniment/language/question/AnswerPart"
import { answerHelp, wholeNumber } from "../Usage.ts"
import { type Chat, type ChatMessage, type ChatQuestion, type Part, readChats } from "./ChatSet.ts"
import { saysGold } from "./GoldAnswers.ts"
import { type ChatService, openChatService, type FoundHit } from "./ChatService.ts"

const usage = `node bench/answers/chats.ts --data DIR [--part fit|held|all] [--read COUNT] [--wrong] [--url URL --key KEY]

Stores LoCoMo's conversations message by message and asks their questions in mode \`answer\`.

  --data     folder with locomo10.json and locomo-evidence-fixes.json
  --part     the part to play (held); the gate is fitted on the other
  --read     prints so many answers to read by hand, spread over all, with the gold answer
  --wrong    prints every answer that is probably wrong, to be read by hand
  --url      a running service instead of one started here; needs --key
  --key      the key to call it with`

interface Played {
  readonly chat: string
  readonly question: ChatQuestion
  readonly answer: string
  readonly isGrounded: boolean
  readonly saysGold: boolean
  readonly isOfEvidence: boolean
  readonly millis: number
}

const main = async (): Promise<void> => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      data: { type: "string" },
      part: { type: "string", default: "held" },
      read: { type: "string", default: "0" },
      wrong: { type: "boolean", default: false },
      url: { type: "string" },
      key: { type: "string" }
    }
  })
  if (values.data === undefined) throw new Error(`--data is missing; usage: ${usage}`)
  const parts: ReadonlyArray<string> = values.part === "all" ? ["fit", "held"] : [values.part]
  const chats = readChats(values.data).filter(({ part }: { readonly part: Part }) => parts.includes(part))
  if (chats.length === 0) throw new Error(`usage: ${usage}`)
  const service = await openChatService(values.url, values.key)
  try {
    const played = await play(service, chats)
    report(chats, played)
    printSample(played, wholeNumber("read", values.read, 0))
    if (values.wrong) for (const one of groundedOf(played).filter((each) => !isRight(each))) printOne(one)
  } finally {
    await service.stop()
  }
}

const stored = async (service: ChatService, chat: Chat): Promise<string> => {
  // A running service may have been asked before.
  const agentId = `${chat.name}-${randomUUID().slice(0, 8)}`
  await service.store(agentId, chat.messages)
  return agentId
}

const play = async (service: ChatService, chats: ReadonlyArray<Chat>): Promise<ReadonlyArray<Played>> => {
  const played: Array<Played> = []
  for (const chat of chats) {
    const agentId = await stored(service, chat)
    for (const question of chat.questions) {
      const startedAt = performance.now()
      const { answer, grounded, memories } = await service.ask(agentId, question.text)
      const millis = performance.now() - startedAt
      played.push({
        chat: chat.name,
        question,
        answer,
        isGrounded: grounded,
        saysGold: question.kind === "answerable" && saysGold(question, answer),
        isOfEvidence: memories.some((hit) => isEvidence(chat.messages, question, hit)),
        millis
      })
    }
    process.stderr.write(`${chat.name}: ${chat.questions.length} questions\n`)
  }
  return played
}

/** By name and text: an extracted memory is none. */
const isEvidence = (messages: ReadonlyArray<ChatMessage>, { evidence }: ChatQuestion, { data }: FoundHit): boolean =>
  messages.some(({ id, name, text }) => evidence.has(id) && data["name"] === name && data["text"] === text)

const report = (chats: ReadonlyArray<Chat>, played: ReadonlyArray<Played>): void => {
  const of = (kind: ChatQuestion["kind"]) => played.filter(({ question }) => question.kind === kind)
  const answerable = of("answerable")
  const grounded = groundedOf(answerable)
  const right = grounded.filter(isRight)
  console.log(`conversations                                  ${chats.map(({ name }) => name).join(", ")}`)
  console.log(`answerable: grounded (coverage)                ${share(grounded.length, answerable.length)}`)
  console.log(
    `  right by words                               ${share(grounded.filter((one) => one.saysGold).length, grounded.length)}`
  )
  console.log(`  right by words or evidence                   ${share(right.length, grounded.length)}`)
  for (const kind of ["swapped", "adversarial"] as const) {
    const asked = of(kind)
    const wrong = asked.filter(({ isGrounded }) => isGrounded)
    console.log(`${`grounded, ${kind}`.padEnd(47)}${share(wrong.length, asked.length)}`)
  }
  for (const [part, asked] of Map.groupBy(answerable, ({ question }) => partAsked(question.text.toLowerCase()))) {
    const answered = groundedOf(asked)
    const wrong = answered.filter((one) => !isRight(one)).length
    console.log(
      `  ${part.padEnd(12)} ${share(answered.length, asked.length)}: ${answered.length - wrong} right, ${wrong} wrong`
    )
  }
  const millis = played.map((one) => one.millis).sort((one, other) => one - other)
  console.log(`milliseconds a question, over HTTP             p50 ${at(millis, 0.5)}, p95 ${at(millis, 0.95)}`)
}

const share = (part: number, whole: number): string =>
  `${part} of ${whole} (${whole === 0 ? "-" : (part / whole).toFixed(3)})`

const at = (sorted: ReadonlyArray<number>, quantile: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * quantile))] ?? 0).toFixed(1)

const groundedOf = (played: ReadonlyArray<Played>): ReadonlyArray<Played> =>
  played.filter(({ isGrounded }) => isGrounded)

/** By machine: by words or by evidence. */
const isRight = ({ isOfEvidence, saysGold: isSaid }: Played): boolean => isSaid || isOfEvidence

/** Every so many-th, so that all conversations are in it. */
const printSample = (played: ReadonlyArray<Played>, count: number): void => {
  const grounded = groundedOf(played)
  for (let step = 0; step < Math.min(count, grounded.length); step++)
    printOne(grounded[Math.floor((step * grounded.length) / count)]!)
}

const printOne = ({ answer, chat, isOfEvidence, question, saysGold: isSaid }: Played): void => {
  const mark =
    question.kind === "answerable" ? `${isSaid ? "words" : "-"}/${isOfEvidence ? "evidence" : "-"}` : question.kind
  console.log(`\n${chat} [${mark}] ${question.text}\n  gold   ${question.gold}\n  answer ${answer}`)
}

await main()
