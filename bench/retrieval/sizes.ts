/**
 * Reliability of relevance by the size of a chat: LoCoMo cut into chats of 20, 60 and 200 messages and whole, and
 * everyday chats of 60 messages of our own. The constants of relevance were fitted on all of them;
 * the halves show spread.
 * `node bench/retrieval/sizes.ts --data DIR [--models DIR] [--model ID]`
 */
import { tableText } from "../kit/Report.ts"
import { scoreAll, type Asked, type AskedScored } from "./Asked.ts"
import { readRetold, type Corpus } from "./Locomo.ts"
import { dataDirOf, readOptions } from "./Options.ts"
import { binNames, firstHits, reliabilityOf, type Hit } from "./Reliability.ts"
import { askedOfCuts, chatSizes, cutAll } from "./ShortChats.ts"
import { defaultModels } from "./suite.ts"
import { mixedChats, mixedParts } from "./UpdateCases.ts"

const row = (name: string, hits: ReadonlyArray<Hit>): ReadonlyArray<string> => {
  const found = reliabilityOf(hits)
  return [
    name,
    ...found.bins.map(([said, seen, count]) => (count === 0 ? "" : `${said.toFixed(2)}:${seen.toFixed(2)} (${count})`)),
    found.error.toFixed(3),
    ...[found.precision, found.precisionAnswerable, found.answerableWithHit, found.unanswerableWithHit].map((share) =>
      share.toFixed(2)
    )
  ]
}

const options = readOptions("sizes.ts")
const modelId = options.modelIds[0] ?? defaultModels[0]!
const messages = readRetold(dataDirOf(options, "sizes.ts")).map((one) => one.messages)
const rows: Array<ReadonlyArray<string>> = []

const score = (corpora: ReadonlyArray<Corpus>, asked: ReadonlyArray<Asked>): Promise<ReadonlyArray<AskedScored>> =>
  scoreAll(corpora, asked, options.modelsDir, modelId)

for (const size of chatSizes) {
  const chats = cutAll(messages, size)
  const scored = await score(
    chats.map(({ corpus }) => corpus),
    askedOfCuts(chats)
  )
  const half = (which: number): ReadonlyArray<AskedScored> =>
    scored.filter(({ corpus }) => chats[corpus]!.conversation % 2 === which)
  const name = size === 0 ? "whole" : `about ${size}`
  rows.push(row(`${name}, 1 3 5 7 9`, firstHits(half(0))), row(`${name}, 2 4 6 8 10`, firstHits(half(1))))
}
for (const part of mixedParts) {
  const chats = mixedChats(part)
  const asked = chats.flatMap(({ corpus, foreign }, at) => [
    ...corpus.questions.map(({ evidence, text }) => ({ corpus: at, text, evidence })),
    ...foreign.map((text) => ({ corpus: at, text, evidence: new Set<number>() }))
  ])
  const scored = await score(
    chats.map(({ corpus }) => corpus),
    asked
  )
  rows.push(row(`our own, 60, ${part}`, firstHits(scored)))
}
const heads = [
  "messages",
  ...binNames,
  "ECE",
  ">= .35: evidence",
  "of answerable",
  "answerable with one",
  "unanswerable"
]
console.log(tableText(heads, rows))
