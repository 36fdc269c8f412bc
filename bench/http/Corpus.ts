/**
 * Corpus that all contestants store and are asked about: texts with a subject each, questions, and the vectors of both
 * by the service's own encoder, computed once and kept under the system's temporary directory.
 *
 * Texts come from a file, else from the package descriptions that this machine's apt knows, else
 * they are sentences made from a seed; the report says which.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { denseText } from "@muniment/engine/text/MemoryText"
import { knownText, modelById, modelPreference, type ModelSpec } from "@muniment/models/ModelCatalog"
import { vectorsOf } from "../kit/TextVectors.ts"
import { repository } from "./ChildServer.ts"
import { aptLists, debianTexts, questionsFile, type NamedText } from "./debianTexts.ts"
import { phrased, readQuestions } from "./Questions.ts"

export interface Passage extends NamedText {
  /** Who it is about, one of `subjectCount`: what searches filter by. */
  readonly subjectId: string
  readonly vector: Float32Array
}

export interface Query {
  readonly text: string
  readonly vector: Float32Array
  readonly subjectId?: string | undefined
}

export interface Corpus {
  readonly source: string
  readonly model: ModelSpec
  readonly passages: ReadonlyArray<Passage>
  /** Stored untimed, half in batches, until the code of a server is compiled. */
  readonly warming: ReadonlyArray<Passage>
  readonly questions: ReadonlyArray<Query>
  /** Passages asked for by their own words: what is stored must be found again. */
  readonly probes: ReadonlyArray<{ readonly passage: Passage; readonly query: Query }>
  /** Vectors by the texts that an encoder gets, prefixes included (`VectorTable`). */
  readonly table: ReadonlyMap<string, Float32Array>
}

/** A filter on one of them leaves a tenth. */
export const subjectCount = 10
/** Memories of one request. */
export const batchSize = 100
export const memoryKind = "factual_memory"
export const modelsDirectory = join(repository, "models")

const probeCount = 40
/** After 400, what was measured fell from round to round. */
const warmingCount = 2_000

/** Passages of a call of the cache: a larger corpus begins with the files of a smaller one. */
const chunkSize = 500

export const loadCorpus = async (count: number, textsFile: string | undefined): Promise<Corpus> => {
  const model = installedModel()
  const { source, texts } = textsOf(count, textsFile)
  const passages = await embedded(model, "passage", texts.map(passageText))
  const warm = madeUp(warmingCount).map(({ name, text }) => ({ name: `warming ${name}`, text }))
  const warmVectors = await embedded(model, "passage", warm.map(passageText))
  const asked = phrased(readQuestions(questionsFile))
  const questions = await embedded(model, "query", asked)
  const stored = texts.map((text, at) => ({ ...text, subjectId: subjectOf(at), vector: passages[at]! }))
  const probed = stored.filter((_, at) => at % Math.ceil(count / probeCount) === 0)
  const probes = await embedded(model, "query", probed.map(probeText))
  return {
    source,
    model,
    passages: stored,
    warming: warm.map((text, at) => ({ ...text, subjectId: "warming", vector: warmVectors[at]! })),
    questions: asked.map((text, at) => ({ text, vector: questions[at]! })),
    probes: probed.map((passage, at) => ({ passage, query: { text: probeText(passage), vector: probes[at]! } })),
    table: new Map([
      ...texts.map((text, at) => [model.passagePrefix + passageText(text), passages[at]!] as const),
      ...warm.map((text, at) => [model.passagePrefix + passageText(text), warmVectors[at]!] as const),
      ...asked.map((text, at) => [model.queryPrefix + text, questions[at]!] as const),
      ...probed.map((passage, at) => [model.queryPrefix + probeText(passage), probes[at]!] as const),
      [knownText, knownRow(model)]
    ])
  }
}

/** The text that the service embeds for such a memory; peers embed the same. */
const passageText = ({ name, text }: NamedText): string =>
  denseText({ kind: memoryKind, data: { subject: name, fact: text }, tags: [] })

const probeText = ({ name, text }: NamedText): string => `${name} ${text}`

/** Passages that follow one another are of one subject, as those of a request are. */
export const subjectOf = (at: number): string => `user-${Math.floor(at / batchSize) % subjectCount}`

export const readTexts = (path: string): ReadonlyArray<NamedText> =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as NamedText)

/** At least `count` texts, cut to it. */
export const textsOf = (
  count: number,
  file: string | undefined
): { readonly source: string; readonly texts: ReadonlyArray<NamedText> } => {
  if (file !== undefined) {
    const texts = readTexts(file)
    if (texts.length < count) throw new Error(`the file has ${texts.length} texts, ${count} are wanted`)
    return { source: "texts of the given file", texts: texts.slice(0, count) }
  }
  const texts = existsSync(aptLists) ? debianTexts(aptLists, questionsFile) : []
  return texts.length >= count
    ? { source: "Debian package descriptions", texts: texts.slice(0, count) }
    : { source: "sentences made from a seed (apt knows no packages here)", texts: madeUp(count) }
}

/** The service's default. */
export const installedModel = (): ModelSpec => {
  const id = modelPreference.find((name) => existsSync(join(modelsDirectory, name)))
  const model = id === undefined ? undefined : modelById(id)
  if (model === undefined) throw new Error("no embedding model is installed: npm run setup")
  return model
}

const embedded = async (
  model: ModelSpec,
  role: "query" | "passage",
  texts: ReadonlyArray<string>
): Promise<ReadonlyArray<Float32Array>> => {
  const vectors: Array<Float32Array> = []
  for (let start = 0; start < texts.length; start += chunkSize) {
    vectors.push(...(await vectorsOf(modelsDirectory, model.id, role, texts.slice(start, start + chunkSize))))
  }
  return vectors
}

/** What a loaded model must reproduce: its first components are all that is looked at. */
const knownRow = ({ dims, knownVector }: ModelSpec): Float32Array => {
  const row = new Float32Array(dims)
  row.set(knownVector)
  return row
}

const people = ["Alice", "Bruno", "Chen", "Dalia", "Emeka", "Farah", "Goran", "Hana", "Ivo", "Jun", "Kofi", "Lena"]
const deeds = [
  "prefers",
  "avoids",
  "bought",
  "sold",
  "repairs",
  "collects",
  "teaches",
  "studies",
  "paints",
  "writes about"
]
const things = ["old clocks", "green tea", "trail shoes", "sea maps", "stone bridges", "jazz records", "wool coats"]
const places = ["Lisbon", "Kyoto", "Accra", "Oslo", "Quito", "Riga", "Perth", "Tunis", "Turin", "Galway", "Split"]
const reasons = ["since school", "on Sundays", "for a friend", "with a neighbour", "before winter", "at night"]

/** Distinct sentences: the number is written in the sizes of the lists. */
export const madeUp = (count: number): ReadonlyArray<NamedText> =>
  Array.from({ length: count }, (_, at) => {
    let rest = at
    const pick = (words: ReadonlyArray<string>) => {
      const word = words[rest % words.length]!
      rest = Math.floor(rest / words.length)
      return word
    }
    const name = pick(people)
    const text = `${name} ${pick(deeds)} ${pick(things)} in ${pick(places)} ${pick(reasons)}`
    return { name: `${name} ${at}`, text: rest === 0 ? text : `${text}, ${rest} times` }
  })
