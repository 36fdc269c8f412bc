/**
 * The ranking of messages and its relevance, fitted on many sets: the features of the best candidates as the service ranks
 * them, a listwise fit of the weights of the score and a logistic fit of relevance, each set judged by a fit on the others,
 * and the table of both beside the constants that ship (`packages/engine/src/ranking/Calibration.ts`).
 * `node bench/retrieval/fit.ts --data DIR [--cases DIR] [--models DIR] [--model ID]`
 */
import { parseArgs } from "node:util"
import { calibrationOf, traitNames } from "@muniment/engine/ranking/Calibration"
import { evidenceValues, type Evidence } from "@muniment/engine/ranking/Evidence"
import { tableText } from "../kit/Report.ts"
import { answerHelp } from "../Usage.ts"
import { askSet, type AskedChat, type AskedQuestion, type AskOptions } from "./ChatEngine.ts"
import { readChatSets, type ChatSet } from "./ChatSets.ts"
import { fitListwise, type ListedQuestion } from "./Listwise.ts"
import { fitLogistic, probability, type Example } from "./Logistic.ts"
import { binNames, reliabilityOf, type Hit } from "./Reliability.ts"
import { defaultModels } from "./suite.ts"

const usage = "node bench/retrieval/fit.ts --data DIR [--cases DIR] [--models DIR] [--model ID]"
/** Candidates of each question that weights are fitted on. */
const depth = 60
const page = 10

interface MeasuredSet {
  readonly set: ChatSet
  readonly asked: ReadonlyArray<AskedChat>
}

const scoreNames = ["words", "cosine", "around", ...traitNames] as const
const scoreFeatures = (values: Evidence): ReadonlyArray<number> => scoreNames.map((name) => values[name])

const main = async (): Promise<void> => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      data: { type: "string" },
      cases: { type: "string" },
      models: { type: "string", default: "models" },
      model: { type: "string", default: defaultModels[0]! }
    }
  })
  if (values.data === undefined) throw new Error(`--data is missing; usage: ${usage}`)
  const options = { modelsDir: values.models, modelId: values.model, depth, isByWords: false }
  const sets = readChatSets(values.data, values.cases)
  const messages = sets.filter(({ isOfFacts }) => !isOfFacts)
  const measured = await measuredBy(messages, options)
  console.log(scores(measured))
  console.log(contexts(measured))
  console.log(`Relevance of messages\n${relevances(measured)}`)
  const byWords = await measuredBy(messages, { ...options, isByWords: true })
  console.log(`Relevance of messages, by words alone\n${relevances(byWords)}`)
  const facts = await measuredBy(
    sets.filter(({ isOfFacts }) => isOfFacts),
    options
  )
  console.log(`Relevance of facts\n${reliability(facts.map(shippedRow))}`)
}

const measuredBy = async (sets: ReadonlyArray<ChatSet>, options: AskOptions): Promise<ReadonlyArray<MeasuredSet>> => {
  const measured: Array<MeasuredSet> = []
  for (const set of sets) measured.push({ set, asked: await askSet(set, options) })
  return measured
}

/** The questions that a set itself asks. */
const ownOf = ({ asked }: MeasuredSet): ReadonlyArray<AskedQuestion> =>
  asked.flatMap(({ questions }) => questions.filter(({ isForeign }) => !isForeign))

/** The score: weights, and the evidence that each set finds by them. */
const scores = (sets: ReadonlyArray<MeasuredSet>): string => {
  const listed = sets.map((set) => ownOf(set).flatMap(listedOf))
  const { score } = calibrationOf(true, true)
  const shipped = scoreNames.map((name) => (name === "words" ? 1 : score[name]))
  const without = sets.map((_, at) => fitListwise(listed.flatMap((some, other) => (other === at ? [] : some))))
  const all = fitListwise(listed.flat())
  const weights = [
    ["shipped", ...shipped],
    ["fitted on all", ...all],
    ...sets.map(({ set }, at) => [`without ${set.name}`, ...without[at]!])
  ].map((row) => row.map((cell) => (typeof cell === "number" ? cell.toFixed(3) : cell)))
  const found = sets.map((one, at) => [
    one.set.name,
    String(ownOf(one).filter(({ evidence }) => evidence.length > 0).length),
    figures(one, shipped),
    figures(one, without[at]!),
    figures(one, all)
  ])
  const heads = ["", "questions", "shipped", "left out of the fit", "fitted on all"]
  return `Weights\n${tableText(["", ...scoreNames], weights)}\n\nEvidence @1 @3 @5 @10\n${tableText(heads, found)}\n`
}

const listedOf = ({ evidence, found, hits }: AskedQuestion): ReadonlyArray<ListedQuestion> => {
  const isEvidence = found.map((id) => evidence.includes(id))
  return isEvidence.some(Boolean)
    ? [{ features: hits.map(({ ranked }) => scoreFeatures(ranked.evidence)), isEvidence }]
    : []
}

const figures = (set: MeasuredSet, weights: ReadonlyArray<number>): string =>
  [1, 3, 5, page]
    .map((places) =>
      meanOf(set, ({ evidence, found, hits }) => {
        const order = hits
          .map(({ ranked }, at) => ({ at, score: product(scoreFeatures(ranked.evidence), weights) }))
          .sort((left, right) => right.score - left.score || left.at - right.at)
        return shareIn(evidence, new Set(order.slice(0, places).map(({ at }) => found[at]!)))
      })
    )
    .map((share) => share.toFixed(3))
    .join(" ")

const product = (left: ReadonlyArray<number>, right: ReadonlyArray<number>): number =>
  left.reduce((sum, value, at) => sum + value * right[at]!, 0)

const shareIn = (evidence: ReadonlyArray<string>, found: ReadonlySet<string>): number =>
  evidence.filter((id) => found.has(id)).length / evidence.length

const meanOf = (set: MeasuredSet, valueOf: (question: AskedQuestion) => number): number => {
  const answerable = ownOf(set).filter(({ evidence }) => evidence.length > 0)
  return answerable.reduce((sum, question) => sum + valueOf(question), 0) / answerable.length
}

/** What the first ten hits hold if each comes with the turns around it. */
const contexts = (sets: ReadonlyArray<MeasuredSet>): string => {
  const rows = sets.map((one) => {
    const places = new Map(one.asked.flatMap(({ chat }) => placesOf(chat)))
    return [
      one.set.name,
      ...[0, 1, 2, 3].map((eachSide) =>
        meanOf(one, ({ evidence, chat, found }) => {
          const beside = found.slice(0, page).flatMap((id) => {
            const { at, session } = places.get(`${chat.name} ${id}`)!
            const near = chat.messages.slice(Math.max(0, at - eachSide), at + eachSide + 1)
            return near.filter((message) => message.session === session).map((message) => message.id)
          })
          return shareIn(evidence, new Set(beside))
        }).toFixed(3)
      )
    ]
  })
  return `Evidence @10 with turns around each hit\n${tableText(["", "none", "1", "2", "3 each side"], rows)}\n`
}

const placesOf = ({ messages, name }: AskedChat["chat"]) =>
  messages.map(({ id, session }, at) => [`${name} ${id}`, { at, session }] as const)

/** Relevance: constants, and whether it says what is seen in a set that it was not fitted on. */
const relevances = (sets: ReadonlyArray<MeasuredSet>): string => {
  // Each set weighs the same, however many hits it has.
  const observed = sets.map((one) => {
    const hits = firstHits(one)
    return hits.map((hit) => ({ ...hit, weight: hitsWeighed / hits.length }))
  })
  const without = sets.map((_, at) => fitLogistic(observed.flatMap((some, other) => (other === at ? [] : some))))
  const all = fitLogistic(observed.flat())
  const constants = ["intercept", ...relevanceNames].map((name, at) => `${name} ${all[at]!.toFixed(2)}`).join(", ")
  const rows = sets.flatMap((one, at): ReadonlyArray<SaidHits> => {
    const saidBy = (weights: ReadonlyArray<number>): ReadonlyArray<Hit> =>
      observed[at]!.map((hit) => ({ ...hit, said: probability(weights, hit.features) }))
    return [
      shippedRow(one),
      [`${one.set.name}, fitted on all`, saidBy(all)],
      [`${one.set.name}, left out`, saidBy(without[at]!)]
    ]
  })
  const score = fitLogistic(observed.flat().map((hit) => ({ ...hit, features: [1, hit.score] })))
  return `Evidence: ${constants}\nOrder: slope ${score[1]!.toFixed(2)}, intercept ${score[0]!.toFixed(2)}\n${reliability(rows)}\n`
}

const hitsWeighed = 3_000

type SaidHits = readonly [name: string, hits: ReadonlyArray<Hit>]

const shippedRow = (one: MeasuredSet): SaidHits => [`${one.set.name}, shipped`, firstHits(one)]

const relevanceNames = ["score", "coverage", "bound", "matched", "standout", "size", "self"] as const

const relevanceFeatures = (evidence: Evidence): ReadonlyArray<number> => {
  const values = evidenceValues(evidence)
  return [1, ...relevanceNames.map((name) => values[name])]
}

const firstHits = ({ asked }: MeasuredSet): ReadonlyArray<Example & Hit & { readonly score: number }> =>
  asked.flatMap(({ questions }, chat) =>
    questions.flatMap(({ evidence, found, hits, isForeign }, number) =>
      hits.slice(0, page).map(({ ranked }, at) => {
        const features = relevanceFeatures(ranked.evidence)
        const isEvidence = !isForeign && evidence.includes(found[at]!)
        return {
          question: chat * 10_000 + number,
          isAnswerable: !isForeign && evidence.length > 0,
          said: ranked.relevance,
          isEvidence,
          isPositive: isEvidence,
          features,
          score: features[1]!
        }
      })
    )
  )

const reliability = (rows: ReadonlyArray<SaidHits>): string =>
  tableText(
    ["said:seen (hits)", ...binNames, "ECE", ">= .35: evidence", "answerable with one", "others"],
    rows.map(([name, hits]) => {
      const { answerableWithHit, bins, error, precision, unanswerableWithHit } = reliabilityOf(hits)
      return [
        name,
        ...bins.map(([said, seen, count]) => (count === 0 ? "" : `${said.toFixed(2)}:${seen.toFixed(2)} (${count})`)),
        error.toFixed(3),
        ...[precision, answerableWithHit, unanswerableWithHit].map((share) => share.toFixed(2))
      ]
    })
  )

await main()
