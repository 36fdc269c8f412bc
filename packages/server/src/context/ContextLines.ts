/**
 * Lines of a context: which of them fit into a number of tokens, and the text that they make, by section and group.
 *
 * Invariants: lines are taken in the order in which they are given, and laid out in an order that does not depend on it;
 * the text never has more tokens than are allowed. Lines begin with neither a blank nor a slash, which are all that a token
 * of o200k_base goes on with behind a line end: the tokens of a text are those of its lines, each counted once. What a memory says stays on one line, or is indented: it cannot look like a heading.
 */
import { Effect } from "effect"
import { type ContextItem, contextSections, type ContextSectionName } from "@muniment/domain/Context"
import type { PlacedMemory } from "../search/CallerSearch.ts"
import { countAll, type TokenCounter } from "./TokenCounter.ts"

export interface LineGroup {
  readonly key: string
  /** The line above it; none where it is empty. */
  readonly title: string
  /** Groups of a section stand in this order; equal ones by their key. */
  readonly order: number
}

export interface ContextLine {
  /** Names the same line in every context. */
  readonly key: string
  readonly section: ContextSectionName
  readonly group: LineGroup
  /** Lines of a group stand in this order. */
  readonly order: number
  /** Text of the line, without the number of its source. */
  readonly text: string
  /** Whether it ends with a number that names its memory. */
  readonly isNumbered: boolean
  readonly item: ContextItem
  /** Place of a found memory, for the attestation of its source. */
  readonly placed?: PlacedMemory | undefined
}

/** Lines that were taken, and what they need with their headings. */
export interface TakenLines {
  readonly lines: ReadonlyArray<ContextLine>
  readonly tokens: number
}

/** Lines in a row that do not fit, after which nothing more is tried. */
const missesMax = 12

export interface Fitting {
  readonly count: TokenCounter
  readonly tokensMax: number
  readonly titles: SectionTitles
}

/** The lines that fit, with their headings. An entry is taken as a whole or not, and a line once. */
export const fitting = Effect.fnUntraced(function* (
  entries: Iterable<ReadonlyArray<ContextLine>>,
  { count, titles, tokensMax }: Fitting
): Effect.fn.Return<TakenLines> {
  const lines: Array<ContextLine> = []
  const known = new Set<string>()
  let [tokens, misses] = [0, 0]
  for (const entry of entries) {
    const fresh = entry.filter(({ key }) => !known.has(key))
    const headings = new Map(fresh.flatMap((line) => headingsOf(line, titles)).filter(([key]) => !known.has(key)))
    const needed = yield* countAll(count, [...headings.values(), ...fresh.map(longestText)])
    if (tokens + needed > tokensMax) {
      if (++misses === missesMax) break
      continue
    }
    misses = 0
    tokens += needed
    lines.push(...fresh)
    for (const { key } of fresh) known.add(key)
    for (const key of headings.keys()) known.add(key)
  }
  return { lines, tokens }
})

export type SectionTitles = Readonly<Record<ContextSectionName, string>>

const headingsOf = (
  { group, section }: ContextLine,
  titles: SectionTitles
): ReadonlyArray<readonly [string, string]> => [
  [section, `${titles[section]}\n`],
  ...(group.title === "" ? [] : [[`${section} ${group.key}`, `${group.title}\n`] as const])
]

/** Numbers of up to three digits are one token each. */
const longestText = (line: ContextLine): string => lineText(line, 999)

const lineText = ({ isNumbered, text }: ContextLine, number: number): string =>
  `${text}${isNumbered ? ` [${number}]` : ""}\n`

export interface LaidSection {
  readonly name: ContextSectionName
  readonly items: ReadonlyArray<ContextItem>
  readonly text: string
}

/** Sections in their order, and the ids that the numbers in their texts name. */
export const laidOut = (lines: ReadonlyArray<ContextLine>, titles: SectionTitles) => {
  const sources: Array<string> = []
  const bySection = Map.groupBy(lines, ({ section }) => section)
  const sections = contextSections.flatMap((name): ReadonlyArray<LaidSection> => {
    const here = bySection.get(name)
    if (here === undefined) return []
    const groups = [...Map.groupBy(here, ({ group }) => group.key)].sort(
      ([leftKey, [left]], [rightKey, [right]]) => left!.group.order - right!.group.order || byText(leftKey, rightKey)
    )
    const items: Array<ContextItem> = []
    let text = `${titles[name]}\n`
    for (const [, unsorted] of groups) {
      const sorted = unsorted.toSorted((left, right) => left.order - right.order || byText(left.item.id, right.item.id))
      const { title } = sorted[0]!.group
      if (title !== "") text += `${title}\n`
      for (const line of sorted) {
        if (line.isNumbered) sources.push(line.item.id)
        items.push(line.item)
        text += lineText(line, sources.length)
      }
    }
    return [{ name, items, text }]
  })
  return { sections, sources }
}

const byText = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

/** Text of a person as one line, which cannot be taken for a heading or another line. */
export const oneEntry = (text: string): string => text.trim().replace(/\s*[\r\n\u2028\u2029]+\s*/g, "\n  ")
