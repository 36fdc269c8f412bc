/**
 * Anthropic's memory tool (`memory_20250818`) over the service: each file below `/memories` is a memory of the kind
 * `memory_file`, whose earlier versions stay readable. An edit holds for the version that it read (`If-Match`), and is
 * made again where another one came first. What is said is what the SDK's own tool for local files says.
 */
import type { MemoryToolHandlers } from "@anthropic-ai/sdk/helpers/beta/memory"
import { type Memory, type Muniment, MunimentError } from "@muniment/client"

export interface MemoryFilesScope {
  readonly agentId: string
  /** Whose files they are: your user. Files of others are not seen. */
  readonly subjectId: string
}

const kind = "memory_file"
const schema = JSON.stringify({
  // No tool writes it.
  "x-tool": false,
  type: "object",
  properties: { path: { type: "string" }, text: { type: "string" } },
  required: ["path", "text"]
})

const root = "/memories"
const identifierLengthMax = 128
const linesMax = 999_999
const lineNumberWidth = String(linesMax).length
const depthMax = 2
/** Times that an edit is made again because another one came first. */
const editsMax = 20

interface Edit {
  readonly text: string
  readonly told: string
}

/** For `betaMemoryTool(new MemoryFiles(client, scope))`. */
export class MemoryFiles implements MemoryToolHandlers {
  readonly #client: Muniment
  readonly #scope: MemoryFilesScope
  #hasKind = false

  constructor(client: Muniment, { agentId, subjectId }: MemoryFilesScope) {
    this.#client = client
    this.#scope = { agentId, subjectId }
  }

  readonly view: MemoryToolHandlers["view"] = async ({ path, view_range: range }) => {
    const place = placeOf(path)
    const file = place === root ? undefined : await this.#file(place)
    if (file !== undefined) return shownFile(path, textOf(file), range ?? [])
    const files = await this.#below(place)
    if (files.length === 0 && place !== root) throw absent(path)
    return shownFolder(path, place, files)
  }

  readonly create: MemoryToolHandlers["create"] = async ({ file_text: text, path }) => {
    const place = placeOf(path)
    if (await this.#isTaken(place)) throw new Error(`File ${path} already exists`)
    await this.#write(place, text)
    return `File created successfully at: ${path}`
  }

  readonly str_replace: MemoryToolHandlers["str_replace"] = ({ new_str: next, old_str: old, path }) =>
    this.#edit(path, (text) => {
      const lines = text.split("\n").flatMap((line, at) => (line.includes(old) ? [at + 1] : []))
      const [at, ...others] = lines.length === 0 ? linesOf(text, old) : lines
      if (at === undefined)
        throw new Error(`No replacement was performed, old_str \`${old}\` did not appear verbatim in ${path}.`)
      if (others.length > 0)
        throw new Error(
          `No replacement was performed. Multiple occurrences of old_str \`${old}\` in lines: ${[at, ...others].join(", ")}. Please ensure it is unique`
        )
      const changed = text.replace(old, () => next)
      const from = Math.max(0, at - 3)
      const snippet = numbered(changed.split("\n").slice(from, at + 2), from + 1)
      return {
        text: changed,
        told: `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet}`
      }
    })

  readonly insert: MemoryToolHandlers["insert"] = ({ insert_line: at, insert_text: added, path }) =>
    this.#edit(path, (text) => {
      const lines = text.split("\n")
      if (at < 0 || at > lines.length)
        throw new Error(
          `Invalid \`insert_line\` parameter: ${at}. It should be within the range of lines of the file: [0, ${lines.length}]`
        )
      const changed = [...lines.slice(0, at), added.replace(/\n$/, ""), ...lines.slice(at)]
      return { text: changed.join("\n"), told: `The file ${path} has been edited.` }
    })

  readonly delete: MemoryToolHandlers["delete"] = async ({ path }) => {
    const place = placeOf(path)
    if (place === root) throw new Error(`Cannot delete the ${root} directory itself`)
    const files = await this.#within(place)
    if (files.length === 0) throw new Error(`The path ${path} does not exist`)
    for (const file of files) await this.#remove(pathOf(file))
    return `Successfully deleted ${path}`
  }

  readonly rename: MemoryToolHandlers["rename"] = async ({ new_path: next, old_path: old }) => {
    const [from, to] = [placeOf(old), placeOf(next)]
    if (from === root) throw new Error(`Cannot rename the ${root} directory itself`)
    if (await this.#isTaken(to)) throw new Error(`The destination ${next} already exists`)
    if (to.startsWith(`${from}/`)) throw new Error(`The destination ${next} lies in ${old}`)
    const files = await this.#within(from)
    if (files.length === 0) throw new Error(`The path ${old} does not exist`)
    // Written before the old one is removed, so that an interruption loses nothing.
    for (const file of files) await this.#write(`${to}${pathOf(file).slice(from.length)}`, textOf(file))
    for (const file of files) await this.#remove(pathOf(file))
    return `Successfully renamed ${old} to ${next}`
  }

  async #edit(path: string, change: (text: string) => Edit): Promise<string> {
    const place = placeOf(path)
    for (let times = 0; ; times++) {
      const file = await this.#file(place)
      if (file === undefined) {
        if (place === root || (await this.#below(place)).length > 0) throw new Error(`The path ${path} is not a file.`)
        throw absent(path)
      }
      const { text, told } = change(textOf(file))
      try {
        await this.#client.update(file.id, { data: { path: place, text } }, { ifMatch: file.version })
        return told
      } catch (error) {
        if (!isOvertaken(error) || times === editsMax) throw error
      }
    }
  }

  async #file(place: string): Promise<Memory | undefined> {
    try {
      return (await this.#client.lookup({ ...this.#scope, kind, key: { path: place } })).memory
    } catch (error) {
      // Nothing was ever written, or not this.
      if (error instanceof MunimentError && (error.code === "unknown_kind" || error.status === 404)) return undefined
      throw error
    }
  }

  /** Files in a folder, and in folders of it. */
  async #below(place: string): Promise<ReadonlyArray<Memory>> {
    const files: Array<Memory> = []
    for await (const file of this.#client.listAll({ ...this.#scope, kind, limit: 100 })) {
      if (pathOf(file).startsWith(`${place}/`)) files.push(file)
    }
    return files
  }

  async #within(place: string): Promise<ReadonlyArray<Memory>> {
    const file = await this.#file(place)
    return file === undefined ? await this.#below(place) : [file]
  }

  async #isTaken(place: string): Promise<boolean> {
    return place === root || (await this.#within(place)).length > 0
  }

  async #write(place: string, text: string): Promise<void> {
    await this.#registerKind()
    const threadId = await threadOf(place)
    await this.#client.create({ ...this.#scope, threadId, memories: [{ kind, data: { path: place, text } }] })
  }

  /** With its earlier versions, of which the last would be the file again. */
  async #remove(place: string): Promise<void> {
    const filters = { ...this.#scope, kind, threadId: await threadOf(place) }
    await this.#client.batchDelete({ filters })
  }

  async #registerKind(): Promise<void> {
    if (this.#hasKind) return
    try {
      await this.#client.register({
        name: kind,
        description: "A file of Anthropic's memory tool.",
        schema,
        uniqueOn: ["path"]
      })
    } catch (error) {
      if (!(error instanceof MunimentError) || error.code !== "schema_exists") throw error
    }
    this.#hasKind = true
  }
}

const absent = (path: string): Error => new Error(`The path ${path} does not exist. Please provide a valid path.`)

/** The file was changed, replaced or removed since it was read. */
const isOvertaken = (error: unknown): boolean =>
  error instanceof MunimentError && [404, 409, 412].includes(error.status)

/** Without a slash at its end; no other way leads to a file. */
const placeOf = (path: string): string => {
  const [, first, ...rest] = path.replace(/\/$/, "").split("/")
  if (!path.startsWith("/") || `/${first}` !== root) throw new Error(`Path must start with ${root}, got: ${path}`)
  if (rest.some((part) => part === "..")) throw new Error(`Path ${path} would escape ${root} directory`)
  return [root, ...rest.filter((part) => part !== "" && part !== ".")].join("/")
}

const pathOf = ({ data }: Memory): string => String(data["path"])
const textOf = ({ data }: Memory): string => String(data["text"])

/** Thread of a file: all of its versions are one. */
const threadOf = async (place: string): Promise<string> => {
  if (place.length <= identifierLengthMax) return place
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(place))
  return `sha256:${Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")}`
}

/** Where a text of several lines begins, each time that it appears. */
const linesOf = (text: string, part: string): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    found.push(text.slice(0, at).split("\n").length)
  }
  return found
}

const numbered = (lines: ReadonlyArray<string>, first: number): string =>
  lines.map((line, at) => `${String(first + at).padStart(lineNumberWidth)}\t${line}`).join("\n")

const shownFile = (path: string, text: string, range: ReadonlyArray<number>): string => {
  const lines = text.split("\n")
  if (lines.length > linesMax)
    throw new Error(`File ${path} has too many lines (${lines.length}). Maximum is ${linesMax.toLocaleString()} lines.`)
  const [from = 1, to = -1] = range.length === 2 ? range : []
  const start = Math.max(1, from) - 1
  const shown = numbered(lines.slice(start, to === -1 ? lines.length : to), start + 1)
  return `Here's the content of ${path} with line numbers:\n${shown}`
}

const shownFolder = (path: string, place: string, files: ReadonlyArray<Memory>): string => {
  const sizes = new Map<string, number>()
  for (const file of files) {
    const parts = pathOf(file)
      .slice(place.length + 1)
      .split("/")
    const bytes = new TextEncoder().encode(textOf(file)).length
    for (let depth = 1; depth <= Math.min(depthMax, parts.length); depth++) {
      const shown = parts.slice(0, depth)
      if (shown.some((part) => part.startsWith(".") || part === "node_modules")) break
      const name = `${shown.join("/")}${depth < parts.length ? "/" : ""}`
      sizes.set(name, (sizes.get(name) ?? 0) + bytes)
    }
  }
  const total = files.reduce((sum, file) => sum + new TextEncoder().encode(textOf(file)).length, 0)
  const names = [...sizes.keys()].toSorted((left, right) => (left < right ? -1 : 1))
  return [
    `Here're the files and directories up to ${depthMax} levels deep in ${path}, excluding hidden items and node_modules:`,
    `${sizeText(total)}\t${path}`,
    ...names.map((name) => `${sizeText(sizes.get(name)!)}\t${path.replace(/\/$/, "")}/${name}`)
  ].join("\n")
}

const units = ["B", "K", "M", "G"] as const

const sizeText = (bytes: number): string => {
  const unit = bytes === 0 ? 0 : Math.floor(Math.log(bytes) / Math.log(1_024))
  const size = bytes / 1_024 ** unit
  return `${Number.isInteger(size) ? size : size.toFixed(1)}${units[unit]}`
}
