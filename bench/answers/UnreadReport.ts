/** Figures of a run over the unread set, and the report that its author reads by hand. */
import type { JudgedHit, PlayedConversation, PlayedQuestion } from "./UnreadPlay.ts"
import { questionTypes } from "./UnreadSet.ts"

const shownHits = 3
/** Lower bounds. */
const relevanceBands = [0, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9]

/** Counts only, no text of the set: what may be passed on. */
export const figuresOf = (played: ReadonlyArray<PlayedConversation>): string => {
  const questions = played.flatMap((one) => one.questions)
  const answerable = questions.filter(({ label }) => label.type !== "unanswerable")
  const unanswerable = questions.filter(({ label }) => label.type === "unanswerable")
  const updates = answerable.filter(({ label }) => label.type !== "unanswerable" && label.outdated !== undefined)
  const newest = updates.map(newestFirst)
  const grounded = answerable.filter(({ answer }) => answer.grounded)
  const said = grounded.filter(({ saysExpected }) => saysExpected)
  return [
    `messages stored / memories extracted           ${sum(played, (one) => one.storedMessages)} / ${sum(played, ({ extracted }) => extracted.length)}`,
    `found first                                    ${share(answerable.filter(foundAmong(1)), answerable)}`,
    `found among the first 3                        ${share(answerable.filter(foundAmong(3)), answerable)}`,
    `found among the first 10                       ${share(answerable.filter(foundAmong(10)), answerable)}`,
    `grounded answers                               ${share(grounded, answerable)}`,
    `  that say the expected words (read them)      ${share(said, grounded)}`,
    `unanswerable questions with a grounded answer  ${share(
      unanswerable.filter(({ answer }) => answer.grounded),
      unanswerable
    )}`,
    `updates: newest value on top                   ${share(
      newest.filter((order) => order === "newest"),
      updates
    )}`,
    `         an earlier value above it             ${newest.filter((order) => order === "earlier").length}`,
    `         neither among the first 10            ${newest.filter((order) => order === "neither").length}`,
    `hits that give the answer, by relevance         ${bandsOf(answerable).map(bandText).join(", ")}`,
    `relevance: expected calibration error          ${calibrationError(bandsOf(answerable)).toFixed(3)}`,
    ...byGroup(answerable)
  ].join("\n")
}

const foundAmong =
  (limit: number) =>
  ({ hits }: PlayedQuestion): boolean =>
    hits.slice(0, limit).some(({ isAnswer }) => isAnswer)

const newestFirst = ({ hits }: PlayedQuestion): "newest" | "earlier" | "neither" => {
  const first = hits.find(({ isAnswer, isOutdated }) => isAnswer || isOutdated)
  return first === undefined ? "neither" : first.isAnswer ? "newest" : "earlier"
}

interface Band {
  readonly from: number
  readonly hits: ReadonlyArray<JudgedHit>
  readonly answers: ReadonlyArray<JudgedHit>
  readonly meanRelevance: number
}

/** Of the hits of each band of relevance, those that give the answer. */
const bandsOf = (answerable: ReadonlyArray<PlayedQuestion>): ReadonlyArray<Band> => {
  const all = answerable.flatMap((question) => question.hits)
  return relevanceBands.map((from, index) => {
    const below = relevanceBands[index + 1] ?? Infinity
    const hits = all.filter(({ relevance }) => relevance >= from && relevance < below)
    const answers = hits.filter(({ isAnswer }) => isAnswer)
    return { from, hits, answers, meanRelevance: sum(hits, ({ relevance }) => relevance) / hits.length }
  })
}

const bandText = ({ from, hits, answers, meanRelevance }: Band): string =>
  hits.length === 0 ? `${from}: none` : `${from}: ${share(answers, hits)} (mean ${meanRelevance.toFixed(2)})`

/** Mean distance of what a band promises from what it holds, by hits. */
const calibrationError = (bands: ReadonlyArray<Band>): number => {
  const used = bands.filter(({ hits }) => hits.length > 0)
  const distances = sum(used, (band) => Math.abs(sum(band.hits, ({ relevance }) => relevance) - band.answers.length))
  return distances / sum(used, ({ hits }) => hits.length)
}

/** Found among three, grounded, and of these right and wrong by the expected words: by type and by conversation. */
const byGroup = (answerable: ReadonlyArray<PlayedQuestion>): ReadonlyArray<string> => {
  const groups = [...questionTypes, ...new Set(answerable.map(({ label }) => label.conversation))]
  return groups.flatMap((group) => {
    const own = answerable.filter(({ label }) => label.type === group || label.conversation === group)
    if (own.length === 0) return []
    const grounded = own.filter(({ answer }) => answer.grounded)
    const wrong = grounded.filter(isOther).length
    const found = own.filter(foundAmong(3)).length
    const coverage = (grounded.length / own.length).toFixed(2)
    return [
      `${group.padEnd(16)} ${own.length} asked, ${found} found in 3, ${grounded.length} grounded (${coverage}): ` +
        `${grounded.length - wrong} with the expected words, ${wrong} with others`
    ]
  })
}

/** Grounded without the expected words, or where nothing answers. */
const isOther = ({ answer, label, saysExpected }: PlayedQuestion): boolean =>
  answer.grounded && (label.type === "unanswerable" || !saysExpected)

/** Markdown with all texts, for the author of the set alone: first the answers that are probably wrong. */
export const reportOf = (played: ReadonlyArray<PlayedConversation>): string =>
  [
    "# Run over the unread set\n",
    `\`\`\`text\n${figuresOf(played)}\n\`\`\`\n`,
    "## Grounded, with other than the expected words\n",
    ...played.flatMap(({ questions }) => questions.filter(isOther).map(questionText)),
    ...played.flatMap((one) => [
      `## ${one.conversation.id}\n`,
      ...one.questions.map(questionText),
      `### Extracted memories (${one.extracted.length})\n`,
      ...one.extracted.map(({ kind, text, sources }) => {
        const said = one.conversation.messages.filter(({ id }) => sources.includes(id))
        const lines = said.map(
          (message) => `    - ${message.id} ${message.name ?? message.role}: ${onOneLine(message.text)}`
        )
        return [`- ${kind} · ${onOneLine(text)}`, ...lines].join("\n")
      })
    ])
  ].join("\n")

const questionText = ({ label, hits, answer, saysExpected }: PlayedQuestion): string => {
  const verdict = answer.grounded
    ? saysExpected
      ? "grounded, expected words"
      : "grounded, OTHER words"
    : "nothing known"
  return [
    `**${label.id}** [${label.type}] ${label.question}`,
    `- gold: ${label.type === "unanswerable" ? "none" : `${label.answer} (${label.gold.join(" ")})`}`,
    `- answer [${label.type === "unanswerable" && answer.grounded ? "grounded, UNANSWERABLE" : verdict}, ${answer.method}]: ${onOneLine(answer.answer)}`,
    ...hits.slice(0, shownHits).map(hitText),
    ""
  ].join("\n")
}

const hitText = ({ memory, relevance, isAnswer, isOutdated }: JudgedHit, index: number): string => {
  const verdict = isAnswer ? "answer" : isOutdated ? "earlier value" : "other"
  return `- hit ${index + 1} [${verdict}] ${relevance} (${memory.sources.join(" ")}) ${memory.kind}: ${onOneLine(memory.text)}`
}

const onOneLine = (text: string): string => text.replaceAll("\n", " ")

const share = (part: ReadonlyArray<unknown>, whole: ReadonlyArray<unknown>): string =>
  `${part.length} of ${whole.length}`

const sum = <A>(items: ReadonlyArray<A>, countOf: (item: A) => number): number =>
  items.reduce((total, item) => total + countOf(item), 0)
