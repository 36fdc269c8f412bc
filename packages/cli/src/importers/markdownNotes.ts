/**
 * Notes of a folder of Markdown, as Obsidian keeps them: a memory for each piece of text below a heading, about the note,
 * with its tags and its date. An id depends on the place and the text, so that a changed note adds what is new in it.
 */
import { Effect, FileSystem, Stream } from "effect"
import { join } from "node:path"
import { Limits } from "@muniment/domain/Limits"
import { factItem, type ForeignItem, type ImportOwner } from "./ForeignItems.ts"

/** Longer texts are cut between paragraphs. */
const pieceLengthMax = 2_000

/** A line of JSON for each note, in the order of their paths; names that begin with a dot are no notes. */
export const noteLines = Effect.fnUntraced(function* (folder: string) {
  const files = yield* FileSystem.FileSystem
  const names = yield* files.readDirectory(folder, { recursive: true })
  const notes = names.filter((name) => /\.md$/i.test(name) && !/(?:^|[\\/])\./.test(name)).toSorted()
  const line = Effect.fnUntraced(function* (name: string) {
    const text = yield* files.readFileString(join(folder, name))
    return `${JSON.stringify({ path: name.replaceAll("\\", "/"), text })}\n`
  })
  return Stream.mapEffect(Stream.fromIterable(notes), line)
})

export const noteItems = (owner: ImportOwner, note: Readonly<Record<string, unknown>>): ReadonlyArray<ForeignItem> => {
  const { path, text } = note
  if (typeof path !== "string" || typeof text !== "string") return [{ skipped: "no note" }]
  const { body, properties } = frontmatterOf(text.replaceAll("\r\n", "\n"))
  const title = properties.get("title")?.[0] ?? path.replace(/^.*\//, "").replace(/\.md$/i, "")
  const at = ["date", "created", "created_at"].flatMap((name) => properties.get(name) ?? [])[0]
  const tags = tagsOf(body, properties)
  const seen = new Map<string, number>()
  const items = sectionsOf(body).flatMap(({ heading, paragraphs }) =>
    piecesOf(paragraphs).map((piece) => {
      const fact = heading === "" ? piece : `${heading}: ${piece}`
      const place = `${path}\0${fact}`
      const occurrence = seen.get(place) ?? 0
      seen.set(place, occurrence + 1)
      return factItem(owner, { id: `${place}\0${occurrence}`, subject: title, fact, at, tags, threadId: path })
    })
  )
  return items.length === 0 ? [{ skipped: "a note without text" }] : items
}

/** `name: value`, `name: [a, b]` and lists with dashes. */
const frontmatterOf = (text: string) => {
  const properties = new Map<string, Array<string>>()
  const found = /^---\n([^]*?)\n---(?:\n|$)/.exec(text)
  let values: Array<string> = []
  for (const line of found?.[1]?.split("\n") ?? []) {
    const listed = /^\s*- (.*)$/.exec(line)?.[1]
    const [, name, value = ""] = /^(\w[\w-]*):\s*(.*)$/.exec(line) ?? []
    if (listed !== undefined) values.push(unquoted(listed))
    if (name === undefined) continue
    values = value.startsWith("[") ? value.slice(1, -1).split(",").map(unquoted) : value === "" ? [] : [unquoted(value)]
    properties.set(name.toLowerCase(), values)
  }
  return { body: text.slice(found?.[0].length ?? 0), properties }
}

const unquoted = (value: string): string => value.trim().replace(/^(["'])(.*)\1$/, "$2")

const tagsOf = (body: string, properties: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyArray<string> => {
  const written = ["tags", "tag"].flatMap((name) => properties.get(name) ?? []).flatMap((tag) => tag.split(/[\s,]+/))
  const inText = Array.from(body.matchAll(/(?:^|\s)#([\p{L}\p{N}_/-]*\p{L}[\p{L}\p{N}_/-]*)/gu), ([, tag = ""]) => tag)
  const tags = [...written, ...inText].map((tag) => tag.replace(/^#/, ""))
  const fitting = new Set(tags.filter((tag) => tag !== "" && tag.length <= Limits.tagLengthMax))
  return [...fitting].slice(0, Limits.tagsPerMemoryMax)
}

interface Section {
  /** With those above it: `Trips > Lisbon`. */
  readonly heading: string
  readonly paragraphs: ReadonlyArray<string>
}

/** Headings in fenced code are code. */
const sectionsOf = (body: string): ReadonlyArray<Section> => {
  const sections: Array<Section> = []
  const headings: Array<string> = []
  let lines: Array<string> = []
  let isCode = false
  const close = (): void => {
    const paragraphs = lines
      .join("\n")
      .split(/\n\s*\n/)
      .map((paragraph) => paragraph.trim())
    const heading = headings.filter((name) => name !== "").join(" > ")
    sections.push({ heading, paragraphs: paragraphs.filter((paragraph) => paragraph !== "") })
    lines = []
  }
  for (const line of body.split("\n")) {
    if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode
    const [, marks = "", name] = isCode ? [] : (/^(#{1,6})\s+(.*?)\s*#*$/.exec(line) ?? [])
    if (name === undefined) {
      lines.push(line)
      continue
    }
    close()
    headings.length = Math.min(headings.length, marks.length - 1)
    while (headings.length < marks.length - 1) headings.push("")
    headings.push(name)
  }
  close()
  return sections
}

/** Paragraphs together up to the bound; a longer one is cut at it. */
const piecesOf = (paragraphs: ReadonlyArray<string>): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  for (const paragraph of paragraphs) {
    const characters = [...paragraph]
    for (let at = 0; at < characters.length; at += pieceLengthMax) {
      const part = characters.slice(at, at + pieceLengthMax).join("")
      const last = pieces.at(-1)
      if (last === undefined || last.length + part.length + 2 > pieceLengthMax) pieces.push(part)
      else pieces[pieces.length - 1] = `${last}\n\n${part}`
    }
  }
  return pieces
}
