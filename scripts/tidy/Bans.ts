/**
 * Bans of the house style. Ambient effects may stand only in the modules that are made for them; each of these is
 * listed with its reason. Ambient effects and casts are looked up in the syntax tree, so that a comment or a text about
 * them is no finding.
 */
import type { Finding } from "./Finding.ts"
import { isNode, type SourceFile, type SyntaxNode, walk } from "./SourceFile.ts"

interface Exemption {
  readonly effects: ReadonlyArray<string>
  readonly reason: string
}

/** Path -> the ambient effects it may use, and why. */
const madeForAmbientEffects: Readonly<Record<string, Exemption>> = {
  "packages/client/src/Runtime.ts": {
    effects: ["process.env"],
    reason: "the client's settings, in programs of others; options go before them"
  },
  "packages/client/src/Transport.ts": {
    effects: ["setTimeout", "Date.now", "crypto.randomUUID"],
    reason: "runs where there is no Effect clock; tests replace the pause and the time by options"
  },
  "packages/console/src/service/browser.ts": {
    effects: ["Date.now", "setTimeout", "setInterval", "crypto.randomUUID"],
    reason: "runs in a browser, where there is no Effect clock; the other modules of the console ask this one"
  },
  "packages/server/src/admission/Turnstile.ts": {
    effects: ["setImmediate"],
    reason: "orders work within a turn of the event loop; no time passes, and tests give their own"
  },
  "packages/server/src/http/LoopDelay.ts": {
    effects: ["performance", "performance.now", "setTimeout"],
    reason: "measures the event loop itself: a fiber's own turns would be measured with it, another clock has no loop"
  },
  "packages/engine/src/log/LogWorker.ts": {
    effects: ["setImmediate"],
    reason: "a worker thread without Effect, which lets messages that have arrived share a sync; no time passes"
  },
  "packages/schemas/src/ValidationWorker.ts": {
    effects: ["performance.now"],
    reason: "a worker thread without Effect, which measures its own computing time"
  }
}

/** Path -> what bounds the requests that wait for its thread, where the callers do and not the queue. */
const boundedByCallers: Readonly<Record<string, string>> = {
  "packages/engine/src/store/sqlite/CommitThread.ts": "one order of each open namespace",
  "packages/engine/src/store/sqlite/CheckThread.ts": "one check of the scrubber, and one of each namespace that failed",
  "packages/control/src/database/check/ControlCheck.ts": "one step of the one check that runs",
  "packages/cluster/src/bases/BaseStore.ts": "one base of the one log, and of each namespace that is held"
}

/** Path -> which forks and loops it may have beside `Rounds`, and why. */
const ownLoops: Readonly<Record<string, Exemption>> = {
  "packages/worker/src/Rounds.ts": { effects: ["Effect.forever"], reason: "the home of background work" },
  "packages/worker/src/RoundBook.ts": { effects: ["Effect.forkDetach"], reason: "the home of background work" },
  "packages/worker/src/WorkerThread.ts": {
    effects: ["Effect.forkDetach"],
    reason: "the end of a thread goes on when its caller does not wait for it"
  },
  "packages/engine/src/namespace/Namespace.ts": {
    effects: ["Effect.forkScoped"],
    reason: "an actor ends by design when its image may differ from its file: the next use opens it anew"
  }
}

/** Work that ends for good, unseen, when it dies once. */
const loopCalls = new Set(["forever", "forkScoped", "forkDetach", "runFork", "runForkWith"])

const ambientMembers = new Set(["Date.now", "Math.random", "crypto.randomUUID", "performance.now", "process.env"])
const ambientCalls = new Set(["setTimeout", "setInterval", "setImmediate"])
/** Also under another name, hence refused where they are imported. */
const ambientImports = new Set([...ambientCalls, "performance", "randomUUID"])

/** In text, because they live in comments or are calls of several shapes. */
const bannedTexts: ReadonlyArray<readonly [RegExp, string]> = [
  // Written so that this file does not find itself.
  [/@ts-(?:ignore|expect-error|nocheck)\b/, "a suppressed type error"],
  [/\b(?:TO[D]O|FIX[M]E|XX[X])\b/, "an unfinished thought; finish it or say it under Decisions"],
  [/\b(?:it|test|describe)(?:\.\w+)*\.(?:skip|only)\(/, "a test that does not run with the others"]
]

const bannedFolders = new Set(["utils", "util", "helpers", "helper", "types", "services", "lib", "common"])

export const banFindings = (file: SourceFile): ReadonlyArray<Finding> => {
  const findings: Array<Finding> = []
  const add = (line: number, rule: string, message: string): void =>
    void findings.push({ path: file.path, line, rule, message })

  walk(file.program, (node) => {
    const cast = castFault(node)
    if (cast !== undefined) add(file.lineAt(node.start), "cast", cast)
    const effect = file.packageName === undefined ? undefined : ambientEffect(node)
    if (effect !== undefined && !isExempt(file.path, effect)) {
      add(file.lineAt(node.start), "ambient", `${effect}: take a Clock, a seed or an option as argument`)
    }
    const loop = file.packageName === undefined ? undefined : ownLoop(node)
    if (loop !== undefined && ownLoops[file.path]?.effects.includes(loop) !== true)
      add(file.lineAt(node.start), "loop", `${loop}: background work goes through Rounds, which outlives its failures`)
    if (file.packageName !== undefined && isUnboundedQueue(node) && boundedByCallers[file.path] === undefined)
      add(file.lineAt(node.start), "unbounded", "a queue without a bound: name one in Limits.ts")
  })
  for (const [index, line] of file.text.split("\n").entries()) {
    for (const [pattern, why] of bannedTexts) if (pattern.test(line)) add(index + 1, "banned", why)
  }
  const folder = file.path
    .split("/")
    .slice(0, -1)
    .find((name) => bannedFolders.has(name))
  if (folder !== undefined) add(0, "folder", `folders are named for concepts, not for kinds of code: ${folder}`)
  if (file.packageName !== undefined && isBarrel(file.program))
    add(1, "barrel", "a file that only passes on exports of others")
  return findings
}

const isExempt = (path: string, effect: string): boolean =>
  madeForAmbientEffects[path]?.effects.some((allowed) => effect.startsWith(allowed)) === true

const ownLoop = (node: SyntaxNode): string | undefined => {
  if (node.type !== "MemberExpression" || nameOf(node["object"]) !== "Effect") return undefined
  const member = nameOf(node["property"])
  return member !== undefined && loopCalls.has(member) ? `Effect.${member}` : undefined
}

/** The ambient effect that `node` is, by its name. */
const ambientEffect = (node: SyntaxNode): string | undefined => {
  switch (node.type) {
    case "MemberExpression":
      return ambientMember(ownerOf(node["object"]), nameOf(node["property"]))
    case "CallExpression":
      return ambientCall(nameOf(node["callee"]))
    case "ImportSpecifier":
      return ambientImport(nameOf(node["imported"]))
    case "NewExpression":
      return nameOf(node["callee"]) === "Date" && isEmpty(node["arguments"]) ? "new Date()" : undefined
    default:
      return undefined
  }
}

const ambientMember = (owner: string | undefined, member: string | undefined): string | undefined => {
  if (owner === "console") return `console.${member}`
  if (ambientMembers.has(`${owner}.${member}`)) return `${owner}.${member}`
  return owner === "globalThis" ? ambientCall(member) : undefined
}

/** `crypto` of `crypto.randomUUID` and of `globalThis.crypto.randomUUID`. */
const ownerOf = (node: unknown): string | undefined =>
  isNode(node) && node.type === "MemberExpression" ? nameOf(node["property"]) : nameOf(node)

const ambientCall = (name: string | undefined): string | undefined =>
  name !== undefined && ambientCalls.has(name) ? name : undefined

const ambientImport = (name: string | undefined): string | undefined =>
  name !== undefined && ambientImports.has(name) ? name : undefined

/** `Queue.unbounded`, `PubSub.unbounded`, and `queueMax: Infinity` of a worker thread. */
const isUnboundedQueue = (node: SyntaxNode): boolean =>
  node.type === "MemberExpression"
    ? nameOf(node["property"]) === "unbounded" && nameOf(node["object"]) !== undefined
    : node.type === "Property" && nameOf(node["key"]) === "queueMax" && nameOf(node["value"]) === "Infinity"

const castFault = (node: SyntaxNode): string | undefined => {
  if (node.type !== "TSAsExpression" && node.type !== "TSTypeAssertion") return undefined
  const target = node["typeAnnotation"]
  if (isNode(target) && target.type === "TSAnyKeyword") return "a cast to any"
  const inner = node["expression"]
  const via = isNode(inner) && inner.type === "TSAsExpression" ? inner["typeAnnotation"] : undefined
  return isNode(via) && via.type === "TSUnknownKeyword" ? "a cast by way of unknown" : undefined
}

const isBarrel = (program: SyntaxNode): boolean => {
  const body = Array.isArray(program["body"]) ? program["body"].filter(isNode) : []
  return body.length > 0 && body.every((node) => node.type === "ExportAllDeclaration" || isReExport(node))
}

const isReExport = (node: SyntaxNode): boolean => node.type === "ExportNamedDeclaration" && isNode(node["source"])

const nameOf = (node: unknown): string | undefined =>
  isNode(node) && node.type === "Identifier" && typeof node["name"] === "string" ? node["name"] : undefined

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0
