/**
 * LoCoMo (Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", 2024) as
 * corpora of memories: one conversation = one corpus, one turn = one memory, and questions with the
 * turns that answer them, after the corrections of dial481/locomo-audit. The files are licensed
 * non-commercially and are read from a folder named by the caller.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { SearchableMemory } from "@muniment/engine/text/MemoryText"

export interface Question {
  readonly text: string
  /** Indices of the turns that answer it; never empty. */
  readonly evidence: ReadonlySet<number>
  /** Category 5: asks about the wrong person or event, so the evidence is only what comes nearest. */
  readonly isAdversarial: boolean
}

export interface Corpus {
  readonly name: string
  readonly speakers: ReadonlyArray<string>
  readonly memories: ReadonlyArray<SearchableMemory>
  readonly questions: ReadonlyArray<Question>
}

/** A conversation as messages and as facts: the observations of LoCoMo, which name the turns they were taken from. */
export interface Retold {
  /** The turns as messages of a conversation; questions as in `Corpus`. */
  readonly messages: Corpus
  /** The observations as direct memories, and the questions that one of them answers. */
  readonly facts: Corpus
  /** Messages and facts in one namespace: the facts follow the messages. Evidence is still counted in messages. */
  readonly together: Corpus
  /** The messages that each memory of `together` tells. */
  readonly toldBy: ReadonlyArray<ReadonlyArray<number>>
}

interface Turn {
  readonly speaker: string
  readonly dia_id: string
  readonly text: string
  readonly blip_caption?: string
}

interface Conversation {
  readonly sample_id: string
  readonly conversation: Readonly<Record<string, ReadonlyArray<Turn> | string>>
  /** By session, then speaker: texts and the turns they were taken from. */
  readonly observation: Readonly<Record<string, Readonly<Record<string, ReadonlyArray<readonly [string, unknown]>>>>>
  readonly qa: ReadonlyArray<{
    readonly question: string
    readonly evidence?: ReadonlyArray<string>
    readonly category: number
  }>
}

interface EvidenceFix {
  readonly question_id: string
  readonly correct_evidence?: ReadonlyArray<string>
}

/** Two turns before and two after, the nearest first. */
const NEIGHBOUR_DISTANCES = [-1, 1, -2, 2]
const ADVERSARIAL = 5

export const readLocomo = (folder: string): ReadonlyArray<Corpus> => {
  const conversations = readConversations(folder)
  const fixesFile = join(folder, "locomo-evidence-fixes.json")
  const fixes: ReadonlyArray<EvidenceFix> = existsSync(fixesFile) ? readJson(fixesFile) : []
  const fixed = new Map(fixes.map((fix) => [fix.question_id, fix.correct_evidence ?? []]))
  return conversations.map((conversation, at) =>
    readCorpus(conversation, (question) => fixed.get(`locomo_${at}_qa${question}`))
  )
}

export const readRetold = (folder: string): ReadonlyArray<Retold> => {
  const conversations = readConversations(folder)
  return readLocomo(folder).map((corpus, at) => retold(corpus, conversations[at]!))
}

const retold = (corpus: Corpus, conversation: Conversation): Retold => {
  const turns = readTurns(conversation)
  const turnOf = new Map(turns.map((turn, at) => [turn.dia_id, at]))
  const messages = corpus.memories.map((memory, at): SearchableMemory => {
    const { blip_caption: caption, speaker, text } = turns[at]!
    const data = { role: "user", name: speaker, text: caption === undefined ? text : `${text} [${caption}]` }
    return { ...memory, kind: "conversation_message", data }
  })
  const observed = Object.values(conversation.observation).flatMap((session) =>
    Object.entries(session).flatMap(([subject, told]) =>
      told.map(([fact, from]) => ({ subject, fact, turns: [...evidenceTurns([String(from)], turnOf)] }))
    )
  )
  const facts = observed.map(({ fact, subject, turns: from }): SearchableMemory => ({
    kind: "factual_memory",
    data: { subject, fact },
    tags: [],
    when: turns[from[0] ?? 0]?.date
  }))
  const questions = corpus.questions.flatMap((question): ReadonlyArray<Question> => {
    const evidence = observed.flatMap(({ turns: from }, at) =>
      from.some((turn) => question.evidence.has(turn)) ? [at] : []
    )
    return evidence.length === 0 ? [] : [{ ...question, evidence: new Set(evidence) }]
  })
  return {
    messages: { ...corpus, memories: messages },
    facts: { ...corpus, memories: facts, questions },
    together: { ...corpus, memories: [...messages, ...facts] },
    toldBy: [...messages.map((_, at) => [at]), ...observed.map(({ turns: from }) => from)]
  }
}

const readConversations = (folder: string): ReadonlyArray<Conversation> => readJson(join(folder, "locomo10.json"))

const readJson = (file: string) => JSON.parse(readFileSync(file, "utf8"))

const readCorpus = (
  conversation: Conversation,
  fixOf: (question: number) => ReadonlyArray<string> | undefined
): Corpus => {
  const turns = readTurns(conversation)
  const memories = turns.map((turn, at): SearchableMemory => ({
    kind: "conversation_turn",
    data: { subject: turn.speaker, text: turn.text, caption: turn.blip_caption ?? null },
    tags: [],
    when: turn.date,
    neighbours: neighboursOf(turns, at)
  }))
  const turnOf = new Map(turns.map((turn, at) => [turn.dia_id, at]))
  const questions = conversation.qa.flatMap((qa, at): ReadonlyArray<Question> => {
    const named = evidenceTurns(fixOf(at) ?? qa.evidence ?? [], turnOf)
    const evidence = named.size > 0 ? named : evidenceTurns(qa.evidence ?? [], turnOf)
    return evidence.size === 0 ? [] : [{ text: qa.question, evidence, isAdversarial: qa.category === ADVERSARIAL }]
  })
  const speakers = [...new Set(turns.map((turn) => turn.speaker))].sort()
  return { name: conversation.sample_id, speakers, memories, questions }
}

/** Texts of the turns around one, within its session, as extraction stores them with a memory. */
export const neighboursOf = (
  turns: ReadonlyArray<{ readonly session: unknown; readonly text: string }>,
  at: number
): ReadonlyArray<string> =>
  NEIGHBOUR_DISTANCES.flatMap((distance) => {
    const near = turns[at + distance]
    return near !== undefined && near.session === turns[at]?.session ? [near.text] : []
  })

const readTurns = ({ conversation }: Conversation): ReadonlyArray<Turn & { session: number; date: string }> => {
  const turns: Array<Turn & { session: number; date: string }> = []
  for (let session = 1; conversation[`session_${session}_date_time`] !== undefined; session++) {
    const found = conversation[`session_${session}`]
    if (!Array.isArray(found)) continue
    // "1:56 pm on 8 May, 2023"
    const said = String(conversation[`session_${session}_date_time`]).split(" on ").at(-1) ?? ""
    const date = new Date(`${said} UTC`).toISOString()
    for (const turn of found) turns.push({ ...turn, session, date })
  }
  return turns
}

/** Evidence is written "D8:6", at times "D8:6; D9:17" or "D:11:26" or "D30:05". */
const evidenceTurns = (evidence: ReadonlyArray<string>, turnOf: ReadonlyMap<string, number>): ReadonlySet<number> => {
  const found = new Set<number>()
  for (const [, session, turn] of evidence.join(" ").matchAll(/D:?(\d+):(\d+)/g)) {
    const at = turnOf.get(`D${Number(session)}:${Number(turn)}`)
    if (at !== undefined) found.add(at)
  }
  return found
}
