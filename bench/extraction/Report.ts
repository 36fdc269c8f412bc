/** A score as text: a table of kinds, then dates, traps, calibration, time; and what went wrong where. */
import type { LabelledConversation, Label } from "./LabelledSet.ts"
import type { KindScore, Score } from "./score.ts"

export const reportText = (score: Score, millis: ReadonlyArray<number>): string => {
  const { events, empty, forbidden, accepted } = score
  const times = [...millis].sort((left, right) => left - right)
  const timeAt = (share: number): string => (times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(1)
  return [
    `${"".padEnd(20)}expected recalled  found correct precision recall     F1`,
    ...Object.entries(score.kinds).map(([kind, row]) => rowText(kind, row)),
    rowText("all", score.all),
    "",
    `${accepted} further candidates were fair to remember and count neither way`,
    `dates: ${ratioText(events.dated, events.found)} of the labelled events that were found`,
    `conversations without a label: ${ratioText(empty.conversations - empty.spoiled, empty.conversations)} left alone`,
    `forbidden memories made: ${forbidden.hit} of ${forbidden.listed}`,
    `milliseconds a conversation: median ${timeAt(0.5)}, p90 ${timeAt(0.9)}, longest ${timeAt(1)}`,
    "",
    "confidence  candidates  mean  precision",
    ...score.calibration.map(
      (bin) =>
        `from ${bin.from.toFixed(1)}    ${String(bin.candidates).padStart(10)}  ${bin.meanConfidence.toFixed(2)}  ${bin.precision.toFixed(2).padStart(9)}`
    )
  ].join("\n")
}

export const failuresText = (score: Score, conversations: ReadonlyArray<LabelledConversation>): string =>
  score.failures
    .map(({ id, missed, wrong, misdated, forbidden }) => {
      const { conversationDate, messages, topic } = conversations.find((conversation) => conversation.id === id)!
      return [
        `${id} (${topic}, ${conversationDate})`,
        ...messages.map(({ role, content }) => `    ${role}: ${content.replaceAll("\n", "\n      ")}`),
        ...missed.map((label) => `  missed     ${labelText(label)}`),
        ...wrong.map((candidate) => {
          const what = misdated.includes(candidate) ? "misdated  " : "wrong     "
          return `  ${what} ${candidate.kind} ${JSON.stringify(candidate.data)} (${candidate.confidence})`
        }),
        ...forbidden.map(({ description }) => `  forbidden  ${description}`)
      ].join("\n")
    })
    .join("\n\n")

const labelText = ({ kind, data }: Label): string => `${kind} ${JSON.stringify(data)}`

const rowText = (kind: string, { expected, recalled, found, correct }: KindScore): string => {
  const [precision, recall] = [correct / found, recalled / expected]
  const counts = [expected, recalled, found, correct].map((count) => String(count).padStart(8)).join("")
  const shares = [precision, recall, (2 * precision * recall) / (precision + recall)]
  return `${kind.padEnd(20)}${counts}  ${shares.map((share) => shareText(share).padStart(7)).join("")}`
}

const ratioText = (part: number, whole: number): string => `${part} of ${whole} (${shareText(part / whole)})`

const shareText = (share: number): string => (Number.isFinite(share) ? share.toFixed(3) : "-")
