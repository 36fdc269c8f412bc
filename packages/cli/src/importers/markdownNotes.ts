/**
 * Notes in Markdown. Of a folder as Obsidian keeps it: a memory for each piece of text below a heading, about the note,
 * with its tags and its date. Of the files in which coding agents are told what to do, or note what they learn: one for
 * each item of a list. An id depends on the place and the text, so that a changed note adds what is new in it.
 */
import { Limits } from "@muniment/domain/Limits"
import {
  type Fields,
  type ForeignFact,
  type ForeignItem,
  type ImportOwner,
  factItems,
  instructionItems,
  unknownItem
} from "./ForeignItems.ts"
import { noteEntries, noteTexts } from "./noteTexts.ts"

export const noteItems = (owner: ImportOwner, note: Fields): ReadonlyArray<ForeignItem> =>
  piecesOf(owner, note, noteTexts, (fact) => factItems(owner, fact))

/** Names of files that hold instructions to the agent. */
const instructionFile =
  /(?:^|\/)(?:(?:CLAUDE|AGENTS|GEMINI|QWEN)(?:\.local)?\.md|copilot-instructions\.md|\.cursorrules|\.windsurfrules|[^/]*\.mdc)$/i
const memoryFile = /(?:^|\/)(?:MEMORY\.md|memory\/[^/]*\.md)$/i

export const isAgentFile = (path: string): boolean => instructionFile.test(path) || memoryFile.test(path)

/** Memory files say what they hold: `type: feedback` is what the user asked of the agent. */
export const agentFileItems = (owner: ImportOwner, note: Fields): ReadonlyArray<ForeignItem> =>
  piecesOf(owner, note, noteEntries, (fact, type) =>
    instructionFile.test(String(note["path"])) || type === "feedback"
      ? instructionItems(owner, fact)
      : factItems(owner, fact)
  )

const piecesOf = (
  owner: ImportOwner,
  { path, text }: Fields,
  texts: (body: string) => ReadonlyArray<string>,
  itemsOf: (fact: ForeignFact, type: string | undefined) => ReadonlyArray<ForeignItem>
): ReadonlyArray<ForeignItem> => {
  if (typeof path !== "string" || typeof text !== "string") return [unknownItem("no note")]
  const { body, properties } = frontmatterOf(text.replaceAll("\r\n", "\n"))
  const title =
    (properties.get("title") ?? properties.get("name"))?.[0] ?? path.replace(/^.*\//, "").replace(/\.mdc?$/i, "")
  const at = ["date", "created", "created_at"].flatMap((name) => properties.get(name) ?? [])[0]
  const tags = tagsOf(body, properties)
  const seen = new Map<string, number>()
  const items = texts(body).flatMap((fact) => {
    const place = `${path}\0${fact}`
    const occurrence = seen.get(place) ?? 0
    seen.set(place, occurrence + 1)
    const note = { id: `${place}\0${occurrence}`, subject: title, fact, at, tags, threadId: path }
    return itemsOf(note, properties.get("type")?.[0])
  })
  return items.length === 0 ? [{ skipped: "a note without text" }] : items
}

/** `name: value`, `name: [a, b]` and lists with dashes. */
const frontmatterOf = (text: string) => {
  const properties = new Map<string, Array<string>>()
  const found = /^---\n([^]*?)\n---(?:\n|$)/.exec(text)
  let values: Array<string> = []
  for (const line of found?.[1]?.split("\n") ?? []) {
    const listed = /^\s*- (.*)$/.exec(line)?.[1]
    const [, name, value = ""] = /^(?:  )?(\w[\w-]*):\s*(.*)$/.exec(line) ?? []
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
