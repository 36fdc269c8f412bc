/**
 * The map as Markdown. Anyone may have written a memory, and language models read the text: a memory can add no line,
 * heading, link, markup or invisible character to it.
 */
import { visibleLine } from "../text/VisibleText.ts"
import type { MapNode } from "./MapNodes.ts"

export interface MarkdownSection {
  readonly topic: string
  readonly count: number
  readonly nodes: ReadonlyArray<MapNode>
}

export const summaryLengthMax = 160

export const markdownOf = (sections: ReadonlyArray<MarkdownSection>): string =>
  sections
    .map(({ topic, count, nodes }) => {
      const bullets = nodes.flatMap((node) => {
        const line = `(${neutral(node.kind)}): ${summaryOf(node)}`
        return node.ids.map((id) => `- ${neutral(id)} ${line}`)
      })
      return `## ${neutral(topic)} (${count})\n\n${bullets.join("\n")}\n`
    })
    .join("\n")

const summaryOf = ({ subject, parts }: MapNode): string => {
  const said = parts.join(", ")
  const text = visibleLine(subject === "" || said === "" ? subject + said : `${subject}: ${said}`)
  const characters = [...text]
  const cut = characters.length > summaryLengthMax ? `${characters.slice(0, summaryLengthMax - 1).join("")}…` : text
  return cut === "" ? "(no text)" : escaped(cut)
}

const neutral = (text: string): string => escaped(visibleLine(text))

/** Characters that start markup within a line; an underscore only outside words. */
const markup = /[\\`*[\]<>~|&#@]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu
/** Many renderers make links of bare addresses. */
const address = /:(?=\/\/)|(?<=\bwww)\./giu

const escaped = (text: string): string => text.replace(markup, String.raw`\$&`).replace(address, String.raw`\$&`)
