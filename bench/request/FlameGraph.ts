/**
 * A V8 processor profile as a flame graph (Gregg 2016): width is processor time of the main thread, what lies on a
 * frame was called by it. Functions of this project are frames of their own, those of a library or of Node are one
 * frame by module, so that a picture shows who asks whom and not the inside of a runtime.
 */
export interface CpuProfile {
  readonly nodes: ReadonlyArray<ProfileNode>
  /** Ids of nodes, and microseconds since the sample before. */
  readonly samples: ReadonlyArray<number>
  readonly timeDeltas: ReadonlyArray<number>
  /** Microseconds of the monotonic clock. */
  readonly startTime: number
}

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly children?: ReadonlyArray<number>
}

/** A frame and what was called from it. */
export interface Flame {
  readonly name: string
  readonly part: Part
  micros: number
  readonly children: Map<string, Flame>
}

/** Whose code it is; a colour each. */
export type Part = "ours" | "effect" | "node" | "library" | "collector"

/** Samples of a part of the profile, in microseconds of its clock; what waits is left out. */
export const flamesOf = (profile: CpuProfile, from: number, until: number): Flame => {
  const stacks = stacksOf(profile)
  const root: Flame = { name: "all", part: "node", micros: 0, children: new Map() }
  let at = profile.startTime
  profile.samples.forEach((id, index) => {
    const micros = profile.timeDeltas[index]!
    at += micros
    const stack = stacks.get(id)
    if (at < from || at > until || stack === undefined) return
    root.micros += micros
    let flame = root
    for (const { name, part } of stack) {
      let next = flame.children.get(name)
      if (next === undefined) flame.children.set(name, (next = { name, part, micros: 0, children: new Map() }))
      next.micros += micros
      flame = next
    }
  })
  return root
}

type Frame = Pick<Flame, "name" | "part">

/** By node, outermost first; none for what waits. */
const stacksOf = ({ nodes }: CpuProfile): ReadonlyMap<number, ReadonlyArray<Frame>> => {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const stacks = new Map<number, ReadonlyArray<Frame>>()
  const visit = (node: ProfileNode, below: ReadonlyArray<Frame>): void => {
    const { functionName } = node.callFrame
    if (functionName === "(idle)" || functionName === "(program)") return
    const frame = functionName === "(root)" ? undefined : frameOf(node)
    // Neighbours of one module are one frame.
    const stack = frame === undefined || below.at(-1)?.name === frame.name ? below : [...below, frame]
    stacks.set(node.id, stack)
    for (const id of node.children ?? []) visit(byId.get(id)!, stack)
  }
  const [root] = nodes
  if (root !== undefined) visit(root, [])
  return stacks
}

const frameOf = ({ callFrame: { functionName, lineNumber, url } }: ProfileNode): Frame => {
  if (functionName === "(garbage collector)") return { name: functionName, part: "collector" }
  if (functionName.startsWith("RegExp:")) return { name: "regular expression", part: "node" }
  if (url === "") return { name: functionName, part: "node" }
  if (url.startsWith("node:")) return { name: url.replace("node:internal/", "node:"), part: "node" }
  const library = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1]
  if (library !== undefined && !library.startsWith("@muniment/")) {
    return { name: library, part: library === "effect" || library.startsWith("@effect/") ? "effect" : "library" }
  }
  const file = /([^/]+)\.\w+$/.exec(url)?.[1] ?? url
  return { name: `${functionName === "" ? `line ${lineNumber + 1}` : functionName} (${file})`, part: "ours" }
}

const width = 1_200
const rowHeight = 18
/** Narrower frames are left out. */
const leastWidth = 1.5
const characterWidth = 6.6
const colours: Readonly<Record<Part, string>> = {
  ours: "#f4a259",
  effect: "#c9cbd8",
  node: "#a7c7a5",
  library: "#9fbfdc",
  collector: "#e07a6a"
}
const legend =
  "orange: this project, grey: Effect, green: Node and the system, blue: other libraries, red: garbage collector"

export const flameGraph = (root: Flame, title: string): string => {
  const rows: Array<string> = []
  let depth = 0
  const draw = (flame: Flame, left: number, row: number): void => {
    let at = left
    const widest = [...flame.children.values()].toSorted((one, other) => other.micros - one.micros)
    for (const child of widest) {
      const size = (child.micros / root.micros) * width
      if (size >= leastWidth) {
        depth = Math.max(depth, row + 1)
        rows.push(frameSvg(child, at, row, size, root.micros))
        draw(child, at, row + 1)
      }
      at += size
    }
  }
  draw(root, 0, 0)
  const height = depth * rowHeight + 50
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="11">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="4" y="16" font-size="14">${escaped(title)}</text>`,
    `<text x="4" y="32" fill="#555555">${legend}</text>`,
    ...rows,
    "</svg>",
    ""
  ].join("\n")
}

const frameSvg = ({ micros, name, part }: Flame, left: number, row: number, size: number, total: number): string => {
  const top = 40 + row * rowHeight
  const share = `${((micros / total) * 100).toFixed(1)} %`
  const characters = Math.floor((size - 4) / characterWidth)
  const text = characters < 3 ? "" : name.length <= characters ? name : `${name.slice(0, characters - 1)}…`
  const box = `x="${left.toFixed(1)}" y="${top}" width="${(size - 0.5).toFixed(1)}" height="${rowHeight - 1}"`
  const label = text === "" ? "" : `<text x="${(left + 2).toFixed(1)}" y="${top + 13}">${escaped(text)}</text>`
  return `<g><title>${escaped(name)}: ${share}</title><rect ${box} fill="${colours[part]}"/>${label}</g>`
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
