/**
 * No circles: not between files, type imports included, and not between what lies side by side in a folder. Two files
 * are compared where their paths part, so that `a/x/F.ts` importing `a/y/z/G.ts` is an arrow from `a/x` to `a/y`, and
 * `a/H.ts` importing it one from `a/H.ts` to `a/y`.
 */
import type { Finding } from "./Finding.ts"
import type { ImportGraph } from "./ImportGraph.ts"

/** Folder that holds rooms side by side: between packages the floor plan decides. */
const housePattern = /^(?:packages\/[^/]+\/src|scripts|bench)$/

interface Step {
  readonly from: string
  readonly to: string
  /** Place of an import that makes this step. */
  readonly path: string
  readonly line: number
}

type Steps = Map<string, Array<Step>>

export const circleFindings = (graph: ImportGraph): ReadonlyArray<Finding> => [
  ...findingsOf("file-circle", fileSteps(graph)),
  ...findingsOf("folder-circle", folderSteps(graph))
]

const fileSteps = (graph: ImportGraph): Steps => {
  const steps: Steps = new Map()
  for (const [path, arrows] of graph) {
    for (const { to, line } of arrows) add(steps, { from: path, to, path, line })
  }
  return steps
}

const folderSteps = (graph: ImportGraph): Steps => {
  const steps: Steps = new Map()
  for (const [path, arrows] of graph) {
    for (const { to, line } of arrows) {
      const [from, target] = partingFolders(path, to)
      if (from !== undefined && target !== undefined) add(steps, { from, to: target, path, line })
    }
  }
  return steps
}

/** The folders in which the paths of two files part, or a folder and a file beside it; undefined for two files. */
const partingFolders = (from: string, to: string): readonly [string | undefined, string | undefined] => {
  const [a, b] = [from.split("/"), to.split("/")]
  let depth = 0
  while (depth < a.length && a[depth] === b[depth]) depth++
  const isInside = a.slice(0, depth).some((_, end) => housePattern.test(a.slice(0, end + 1).join("/")))
  const folderOf = (names: ReadonlyArray<string>): string | undefined =>
    isInside ? names.slice(0, depth + 1).join("/") : undefined
  const areFiles = a.length === depth + 1 && b.length === depth + 1
  return areFiles ? [undefined, undefined] : [folderOf(a), folderOf(b)]
}

const add = (steps: Steps, step: Step): void => {
  const known = steps.get(step.from)
  if (known === undefined) steps.set(step.from, [step])
  else if (!known.some(({ to }) => to === step.to)) known.push(step)
}

/** One finding for each group whose members all reach each other: a shortest circle in it. */
const findingsOf = (rule: string, steps: Steps): ReadonlyArray<Finding> => {
  const done = new Set<string>()
  return [...steps.keys()].sort().flatMap((start) => {
    if (done.has(start)) return []
    const circle = shortestCircle(steps, start)
    if (circle === undefined) return []
    for (const name of groupOf(steps, start)) done.add(name)
    const { path, line } = circle[0]!
    const message = [...circle.map(({ from }) => from), start].join(" -> ")
    return [{ path, line, rule, message }]
  })
}

/** By breadth: the steps that lead from `start` back to it. */
const shortestCircle = (steps: Steps, start: string): ReadonlyArray<Step> | undefined => {
  const cameBy = new Map<string, Step>()
  const waiting = [start]
  for (const name of waiting) {
    for (const step of steps.get(name) ?? []) {
      if (step.to === start) return [...pathTo(cameBy, name, start), step]
      if (cameBy.has(step.to)) continue
      cameBy.set(step.to, step)
      waiting.push(step.to)
    }
  }
  return undefined
}

const pathTo = (cameBy: ReadonlyMap<string, Step>, name: string, start: string): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  for (let at = name; at !== start; at = steps[0]!.from) steps.unshift(cameBy.get(at)!)
  return steps
}

/** Everything that `start` reaches and that reaches `start`. */
const groupOf = (steps: Steps, start: string): ReadonlyArray<string> =>
  reached(steps, start).filter((name) => reached(steps, name).includes(start))

const reached = (steps: Steps, start: string): ReadonlyArray<string> => {
  const found = new Set([start])
  for (const name of found) for (const { to } of steps.get(name) ?? []) found.add(to)
  return [...found]
}
