/**
 * Conversations kept message by message, on LoCoMo: what each term of the ranking adds, whether facts beside the
 * messages help, and how far relevance can be believed. Everything is the service's own but the vectors' order of ties.
 * Weights were chosen on these conversations, so the halves show spread, not an unseen result.
 * `node bench/retrieval/messages.ts --data DIR [--models DIR] [--model ID]`
 */
import { fuse } from "@muniment/engine/ranking/Fusion"
import { messageTraits } from "@muniment/engine/text/MessageText"
import { tableText } from "../kit/Report.ts"
import { askedOf, scoreAll, type AskedScored } from "./Asked.ts"
import { readRetold, type Corpus, type Retold } from "./Locomo.ts"
import { MetricsSum, RANKING_DEPTH, type Metrics } from "./Metrics.ts"
import { openCorpus, type OpenCorpus, type QueryVector, type Scored } from "./OpenCorpus.ts"
import { dataDirOf, readOptions } from "./Options.ts"
import { binNames, firstHits, reliabilityOf } from "./Reliability.ts"
import { defaultModels } from "./suite.ts"
import { embedCorpora } from "./TurnQuality.ts"

/** Terms that a step of the ablation already has. */
interface Step {
  readonly name: string
  readonly hasMeaning: boolean
  readonly hasNeighbours: boolean
  readonly keeps: (scored: Scored) => Scored
}

const bare = ({ candidates, query }: Scored): Scored => ({
  candidates: candidates.map(({ message, ...candidate }) => ({
    ...candidate,
    message: message && { ...message, traits: message.traits & messageTraits.isByUser }
  })),
  query: { ...query, asked: undefined }
})
const withTraits = ({ candidates, query }: Scored): Scored => ({ candidates, query: { ...query, asked: undefined } })
const withSpeaker = ({ candidates, query }: Scored): Scored => ({
  candidates,
  query: { ...query, asked: query.asked && { ...query.asked, ranges: [] } }
})

const steps: ReadonlyArray<Step> = [
  { name: "words alone", hasMeaning: false, hasNeighbours: false, keeps: bare },
  { name: "+ 3.2 * cosine", hasMeaning: true, hasNeighbours: false, keeps: bare },
  { name: "+ neighbours", hasMeaning: true, hasNeighbours: true, keeps: bare },
  { name: "+ states, onlyAsks", hasMeaning: true, hasNeighbours: true, keeps: withTraits },
  { name: "+ speaks", hasMeaning: true, hasNeighbours: true, keeps: withSpeaker },
  { name: "+ inRange, nearRange", hasMeaning: true, hasNeighbours: true, keeps: (scored) => scored },
  { name: "all of it without the model", hasMeaning: false, hasNeighbours: true, keeps: (scored) => scored }
]

const main = async (): Promise<void> => {
  const options = readOptions("messages.ts")
  const modelId = options.modelIds[0] ?? defaultModels[0]!
  const retold = readRetold(dataDirOf(options, "messages.ts"))
  const messages = retold.map((one) => one.messages)
  const vectors = await embedCorpora(options.modelsDir, modelId, messages)
  if (!Array.isArray(vectors)) throw vectors
  console.log(`${modelId}; questions without the adversarial ones; R@5 R@10 R@20 nDCG@10\n`)
  console.log(ablation(messages, vectors))
  console.log(`\nMessages and facts (observations) in one namespace; a turn is found if it or a fact told by it is.\n`)
  console.log(await together(retold, options.modelsDir, modelId))
  console.log("\nRelevance of the first ten hits, said:seen (hits); own questions and those of another conversation.\n")
  console.log(await reliability(retold, options.modelsDir, modelId))
}

const figures = ({ recall5, recall10, recall20, ndcg10 }: Metrics): string =>
  [recall5, recall10, recall20, ndcg10].map((value) => value.toFixed(3)).join(" ")

const ablation = (corpora: ReadonlyArray<Corpus>, vectors: ReadonlyArray<ReadonlyArray<QueryVector>>): string => {
  const alone = corpora.map((corpus) =>
    openCorpus({ ...corpus, memories: corpus.memories.map((memory) => ({ ...memory, neighbours: [] })) })
  )
  const beside = corpora.map(openCorpus)
  const rows = steps.map(({ hasMeaning, hasNeighbours, keeps, name }) => {
    const sums = [new MetricsSum(), new MetricsSum(), new MetricsSum()] as const
    const open: ReadonlyArray<OpenCorpus> = hasNeighbours ? beside : alone
    for (const [at, { ask, corpus }] of open.entries()) {
      for (const [number, { evidence, isAdversarial, text }] of corpus.questions.entries()) {
        if (isAdversarial) continue
        const { candidates, query } = keeps(ask(text, hasMeaning ? vectors[at]![number] : undefined))
        const ranking = fuse(candidates, query, { limit: RANKING_DEPTH }).map(({ candidate }) => candidate.slot)
        sums[0].add(ranking, evidence)
        sums[at % 2 === 0 ? 1 : 2].add(ranking, evidence)
      }
    }
    return [name, ...sums.map((sum) => figures(sum.mean()))]
  })
  return tableText(["step", "all", "conversations 1 3 5 7 9", "conversations 2 4 6 8 10"], rows)
}

const together = async (retold: ReadonlyArray<Retold>, modelsDir: string, modelId: string): Promise<string> => {
  const parts = [
    ["messages alone", retold.map(({ messages }) => messages)],
    ["messages and facts", retold.map((one) => one.together)]
  ] as const
  const rows: Array<ReadonlyArray<string>> = []
  for (const [name, corpora] of parts) {
    const asked = corpora.flatMap(({ questions }, corpus) =>
      questions.filter(({ isAdversarial }) => !isAdversarial).map(({ evidence, text }) => ({ corpus, evidence, text }))
    )
    const sum = new MetricsSum()
    for (const { corpus, evidence, scored } of await scoreAll(corpora, asked, modelsDir, modelId)) {
      const ranking = fuse(scored.candidates, scored.query, { limit: RANKING_DEPTH })
      sum.add(
        toldTurns(
          ranking.map(({ candidate }) => retold[corpus]!.toldBy[candidate.slot]!),
          evidence
        ),
        evidence
      )
    }
    rows.push([name, figures(sum.mean())])
  }
  return tableText(["", "all"], rows)
}

/** One turn per place: of a fact the evidence that it tells and nothing told before it, else its first turn. */
const toldTurns = (
  told: ReadonlyArray<ReadonlyArray<number>>,
  evidence: ReadonlySet<number>
): ReadonlyArray<number> => {
  const found = new Set<number>()
  return told.map((turns) => {
    const turn = turns.find((one) => evidence.has(one) && !found.has(one))
    if (turn !== undefined) found.add(turn)
    return turn ?? -1
  })
}

const reliability = async (retold: ReadonlyArray<Retold>, modelsDir: string, modelId: string): Promise<string> => {
  const kinds = { messages: retold.map(({ messages }) => messages), facts: retold.map(({ facts }) => facts) }
  const rows: Array<ReadonlyArray<string>> = []
  for (const [kind, corpora] of Object.entries(kinds)) {
    const asked = askedOf(corpora)
    for (const model of [modelId, undefined]) {
      const scored = await scoreAll(corpora, asked, modelsDir, model)
      const half = (which: number): ReadonlyArray<AskedScored> => scored.filter(({ corpus }) => corpus % 2 === which)
      const name = `${kind}${model === undefined ? ", words alone" : ""}`
      rows.push(reliabilityRow(`${name}, 1 3 5 7 9`, half(0)), reliabilityRow(`${name}, 2 4 6 8 10`, half(1)))
    }
  }
  const heads = [
    "",
    ...binNames,
    "ECE",
    ">= .35: evidence",
    "of answerable",
    "answerable with one",
    "unanswerable with one"
  ]
  return tableText(heads, rows)
}

const reliabilityRow = (name: string, questions: ReadonlyArray<AskedScored>): ReadonlyArray<string> => {
  const found = reliabilityOf(firstHits(questions))
  return [
    name,
    ...found.bins.map(([said, seen, hits]) => `${said.toFixed(2)}:${seen.toFixed(2)} (${hits})`),
    found.error.toFixed(3),
    ...[found.precision, found.precisionAnswerable, found.answerableWithHit, found.unanswerableWithHit].map((share) =>
      share.toFixed(2)
    )
  ]
}

await main()
