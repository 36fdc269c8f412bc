/**
 * LoCoMo's conversations cut into chats of a given size, whole sittings each, as namespaces of their own: with the
 * questions whose evidence lies wholly in the cut, and as many of another conversation with the names exchanged.
 */
import type { Asked } from "./Asked.ts"
import type { Corpus } from "./Locomo.ts"

/** Sizes in messages that the tables speak of; 0: the whole conversation. */
export const chatSizes = [20, 60, 200, 0] as const

export interface ShortChat {
  readonly corpus: Corpus
  /** Index of the conversation that it was cut from. */
  readonly conversation: number
}

/** Cuts at the ends of sittings, once there are about so many messages. In order and without a gap. */
export const cutAll = (corpora: ReadonlyArray<Corpus>, size: number): ReadonlyArray<ShortChat> =>
  corpora.flatMap((corpus, conversation) =>
    cutsOf(corpus, size).map(([from, to]) => ({ conversation, corpus: partOf(corpus, from, to) }))
  )

const cutsOf = ({ memories }: Corpus, size: number): ReadonlyArray<readonly [from: number, to: number]> => {
  if (size === 0) return [[0, memories.length]]
  const cuts: Array<readonly [number, number]> = []
  let from = 0
  for (let at = 1; at <= memories.length; at++) {
    const isEnd = at === memories.length || memories[at]!.when !== memories[at - 1]!.when
    // A sitting has about 22 messages.
    if (!isEnd || (at < memories.length && at - from < size * 0.75)) continue
    cuts.push([from, at])
    from = at
  }
  return cuts
}

const partOf = (corpus: Corpus, from: number, to: number): Corpus => ({
  ...corpus,
  name: `${corpus.name} ${from}-${to}`,
  memories: corpus.memories.slice(from, to),
  questions: corpus.questions.flatMap((question) => {
    const evidence = [...question.evidence].map((slot) => slot - from)
    return evidence.every((slot) => slot >= 0 && slot < to - from) ? [{ ...question, evidence: new Set(evidence) }] : []
  })
})

/** Own questions, and as many of chats of the next conversations but two. Adversarial ones have no answer. */
export const askedOfCuts = (chats: ReadonlyArray<ShortChat>): ReadonlyArray<Asked> => {
  const conversations = Map.groupBy(chats, ({ conversation }) => conversation)
  return chats.flatMap(({ conversation, corpus }, at) => {
    const elsewhere = conversations.get((conversation + foreignDistance) % conversations.size)!
    const foreign = elsewhere.flatMap(({ corpus: { questions } }) => questions)
    const speakers = elsewhere[0]!.corpus.speakers
    const own = corpus.questions.map(({ evidence, isAdversarial, text }) => ({
      corpus: at,
      text,
      evidence: isAdversarial ? new Set<number>() : evidence
    }))
    // Spread over all of the other conversation, and other ones for each chat.
    const step = Math.max(1, Math.floor(foreign.length / Math.max(1, own.length)))
    const others = own.map((_, number) => {
      const { text } = foreign[(number * step + at) % foreign.length]!
      return {
        corpus: at,
        text: speakers.reduce((said, name, which) => said.replaceAll(name, corpus.speakers[which] ?? name), text),
        evidence: new Set<number>()
      }
    })
    return [...own, ...others]
  })
}

const foreignDistance = 3
