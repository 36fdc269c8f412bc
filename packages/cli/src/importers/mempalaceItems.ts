/**
 * Drawers of MemPalace as its two exports write them: a line of JSON each (`--format jsonl`), or a section of a room's
 * page (Markdown). The wing is the memory's subject, the room its thread; both are tags.
 */
import {
  type Fields,
  type ForeignItem,
  type ImportOwner,
  factItems,
  fieldsOf,
  isGiven,
  textOf,
  unknownItem,
  unreadFields
} from "./ForeignItems.ts"
import { noteLengthMax, pieces } from "./noteTexts.ts"

const known = ["wing", "room", "filed_at", "added_by", "chunk_index", "source_mtime", "content_hash", "hall"]

export const isMempalace = (element: Fields): boolean =>
  typeof element["document"] === "string" && isGiven(element["id"]) && "metadata" in element

export const mempalaceItems = (owner: ImportOwner, drawer: Fields): ReadonlyArray<ForeignItem> => {
  const [id, text] = [textOf(drawer["id"]), textOf(drawer["document"])]
  if (id === undefined || !("document" in drawer)) return [unknownItem("no drawer of MemPalace")]
  const metadata = fieldsOf(drawer["metadata"])
  const wing = textOf(metadata["wing"]) ?? "unknown"
  const room = textOf(metadata["room"]) ?? "general"
  if (text === undefined) return [{ skipped: "a drawer without text" }]
  return pieces(text, noteLengthMax).flatMap((fact, part) =>
    factItems(owner, {
      id: part === 0 ? id : `${id}\0${part}`,
      subject: wing,
      fact,
      at: metadata["filed_at"],
      tags: [wing, room],
      threadId: `${wing}/${room}`,
      metadata: unreadFields(metadata, known)
    })
  )
}

const section =
  /^## (\S.*)\n+> ([^]*?)\n+\| Field \| Value \|\n\|[-| ]+\|\n\| Source \| (.*) \|\n\| Filed \| (.*) \|\n\| Added by \| (.*) \|$/gm

export const isMempalacePage = (text: string): boolean =>
  text.includes("\n| Field | Value |") && /^# .+ \/ .+$/m.test(text)

/** Drawers of a room's page, `# wing / room`. */
export const mempalaceDrawers = (page: string): ReadonlyArray<Fields> => {
  const text = page.replaceAll("\r\n", "\n")
  const [, wing, room] = /^# (.+) \/ (.+)$/m.exec(text) ?? []
  return Array.from(text.matchAll(section), ([, id, quoted, source, filed]) => ({
    id,
    document: quoted!.replaceAll(/\n> ?/g, "\n"),
    metadata: { wing, room, ...given("source_file", source), ...given("filed_at", filed) }
  }))
}

const given = (name: string, value: string | undefined): Fields =>
  value === undefined || value === "unknown" ? {} : { [name]: value }
