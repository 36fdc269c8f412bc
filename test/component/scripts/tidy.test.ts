/** The house rules hold for the tree, and each rule finds a sample that breaks it. */
import { resolve } from "node:path"
import { describe, expect, it } from "vitest"
import { tidy } from "../../../scripts/tidy.ts"
import { banFindings } from "../../../scripts/tidy/Bans.ts"
import { conventionFindings } from "../../../scripts/tidy/Conventions.ts"
import { type Finding, findingText } from "../../../scripts/tidy/Finding.ts"
import { floorFindings } from "../../../scripts/tidy/Floors.ts"
import { rawOpenFindings } from "../../../scripts/tidy/RawOpens.ts"
import { manifestFindings, readmeFindings, textFindings } from "../../../scripts/tidy/Repository.ts"
import { headerFindings, patternFindings, shareFindings, sizeFindings } from "../../../scripts/tidy/Sizes.ts"
import { makeSourceFile } from "../../../scripts/tidy/SourceFile.ts"

const modulePath = "packages/engine/src/vectors/Sample.ts"
const rulesOf = (findings: ReadonlyArray<Finding>): ReadonlyArray<string> => findings.map(({ rule }) => rule)
const ofFile = (text: string, path = modulePath) => makeSourceFile(path, text)
const lines = (count: number, line = "work()"): string => `${line}\n`.repeat(count)

it("the tree follows the house rules", () => {
  expect(tidy(resolve(import.meta.dirname, "../../..")).map(findingText)).toEqual([])
})

describe("the floor plan", () => {
  const imported = (text: string, path = modulePath) => floorFindings(ofFile(text, path), undefined)

  it("lets imports point down", () => {
    expect(imported('import { a } from "@muniment/domain/A"\nimport { b } from "../Other.ts"')).toEqual([])
  })
  for (const [what, text, path] of [
    ["upwards", 'import { a } from "@muniment/server/A"', modulePath],
    ["sideways", 'import { a } from "@muniment/control/A"', modulePath],
    ["sideways for a type", 'import type { A } from "@muniment/control/A"', modulePath],
    ["upwards by re-export", 'export { a } from "@muniment/server/A"', modulePath],
    ["upwards while running", 'const a = await import("@muniment/server/A")', modulePath],
    ["upwards inside a type", 'type A = import("@muniment/server/A").A', modulePath],
    ["out of the package by a relative path", 'import { a } from "../../../control/src/A.ts"', modulePath],
    ["its own package by name", 'import { a } from "@muniment/engine/A"', modulePath],
    ["a package that is not drawn", 'import { a } from "@muniment/extra/A"', modulePath],
    ["beside the folder that is drawn", 'import { a } from "@muniment/engine/text/A"', "packages/insight/src/A.ts"],
    ["the contract at run time from the client", 'import { A } from "@muniment/domain/A"', "packages/client/src/A.ts"]
  ] as const) {
    it(`refuses an import ${what}`, () => {
      expect(rulesOf(imported(text, path))).toEqual(["floors"])
    })
  }
  it("lets the client import types of the contract, and payments the ledger", () => {
    expect(imported('import type { A } from "@muniment/domain/A"', "packages/client/src/A.ts")).toEqual([])
    expect(imported('import { A } from "@muniment/control/A"', "packages/payments/src/A.ts")).toEqual([])
  })
  it("lets tests import anything", () => {
    expect(imported('import { a } from "@muniment/server/A"', "test/unit/engine/A.test.ts")).toEqual([])
  })
  it("refuses a dependency that package.json does not declare", () => {
    const file = ofFile('import { a } from "effect/Effect"\nimport b from "left-pad"\nimport "node:fs"')
    const findings = floorFindings(file, { dependencies: new Set(["effect"]) })
    expect(findings.map(({ message }) => message)).toEqual([
      "left-pad is not a dependency in the package's package.json"
    ])
  })
})

describe("files that are opened without SQLite", () => {
  const found = (text: string, path = "packages/control/src/database/Sample.ts") =>
    rulesOf(rawOpenFindings(ofFile(text, path)))

  for (const text of [
    'import { openSync } from "node:fs"',
    'import { readFileSync as read } from "node:fs"',
    'import { createReadStream, statSync } from "node:fs"',
    'import { open } from "node:fs/promises"',
    'import { promises } from "node:fs"',
    'import fs from "node:fs"',
    'import * as files from "node:fs/promises"',
    'import { Effect, FileSystem } from "effect"'
  ])
    it(`are refused where no one says what they are: ${text}`, () => expect(found(text)).toEqual(["raw open"]))

  it("are free where they are listed, in processes beside the service, and for what needs no descriptor", () => {
    const text = 'import { openSync } from "node:fs"'
    for (const path of ["engine/src/log/Sample.ts", "cli/src/Sample.ts", "sqlite/src/ClosedFile.ts"])
      expect(found(text, `packages/${path}`)).toEqual([])
    expect(found('import { existsSync, renameSync, rmSync, statSync } from "node:fs"')).toEqual([])
    expect(found('import type { FileHandle } from "node:fs/promises"')).toEqual([])
  })
})

describe("background work", () => {
  const found = (text: string, path = modulePath) => banFindings(ofFile(text, path)).map(({ rule }) => rule)

  it.each(["forever", "forkScoped", "forkDetach", "runFork", "runForkWith"])(
    "goes through its home, not through Effect.%s",
    (member) => {
      expect(found(`const loop = work.pipe(Effect.${member})`)).toEqual(["loop"])
      expect(found(`const loop = Effect.${member}(work)`, "test/unit/engine/A.test.ts")).toEqual([])
    }
  )
  it("has the exceptions that are named, each for itself", () => {
    expect(found("Effect.forever(work)", "packages/worker/src/Rounds.ts")).toEqual([])
    expect(found("Effect.runFork(work)", "packages/worker/src/Rounds.ts")).toEqual(["loop"])
    expect(found("Effect.forkScoped(actor.run)", "packages/engine/src/namespace/Namespace.ts")).toEqual([])
  })
  it("may wait with the caller, and for a fiber of the caller", () => {
    expect(found("Effect.repeat(work, schedule)\nEffect.forkChild(work)\nEffect.forkIn(work, scope)")).toEqual([])
  })
})

describe("sizes", () => {
  it("refuse a regular expression of more than 200 characters", () => {
    expect(patternFindings(ofFile(`const short = /${"a".repeat(198)}/`))).toEqual([])
    for (const text of [
      `const long = /${"a".repeat(199)}/`,
      `const long = new RegExp("${"a".repeat(199)}", "i")`,
      `const long = new RegExp(\`\${word}${"a".repeat(201)}\`)`,
      `const long = new RegExp(["a", String.raw\`${"a".repeat(201)}\`].join("|"))`
    ]) {
      expect(rulesOf(patternFindings(ofFile(text)))).toEqual(["pattern-size"])
    }
    expect(patternFindings(ofFile(`const text = "${"a".repeat(300)}"`))).toEqual([])
    expect(patternFindings(ofFile(`const inTest = /${"a".repeat(300)}/`, "test/unit/A.test.ts"))).toEqual([])
  })

  it("refuse a file of more than 600 lines", () => {
    expect(sizeFindings(ofFile(lines(600)))).toEqual([])
    expect(rulesOf(sizeFindings(ofFile(lines(601))))).toEqual(["file-size"])
  })
  it("refuse a function of more than 70 lines", () => {
    expect(sizeFindings(ofFile(`const f = () => {\n${lines(68)}}`))).toEqual([])
    expect(rulesOf(sizeFindings(ofFile(`const f = () => {\n${lines(69)}}`)))).toEqual(["function-size"])
  })
  it("count the lines of nested functions for the outer one as well", () => {
    const nested = `const g = () => {\n${lines(30)}}\n`
    expect(sizeFindings(ofFile(`const f = () => {\n${nested}${nested}}`))).toEqual([])
    expect(rulesOf(sizeFindings(ofFile(`const f = () => {\n${nested}${nested}${lines(5)}}`)))).toEqual([
      "function-size"
    ])
  })
  it("refuse more than a tenth of large modules", () => {
    const small = Array.from({ length: 18 }, () => ofFile(lines(100)))
    const large = ofFile(lines(350))
    expect(shareFindings([...small, large, large])).toEqual([])
    expect(rulesOf(shareFindings([...small, large, large, large]))).toEqual(["module-sizes"])
  })
})

describe("the opening comment", () => {
  it("is wanted in every module, not in tests", () => {
    expect(rulesOf(headerFindings(ofFile('import "node:fs"\n/** Late. */')))).toEqual(["header"])
    expect(headerFindings(ofFile("work()", "test/unit/A.test.ts"))).toEqual([])
  })
  it("may be one line in a small file only", () => {
    expect(headerFindings(ofFile(`/** Small. */\n${lines(100)}`))).toEqual([])
    expect(rulesOf(headerFindings(ofFile(`/** Large. */\n${lines(200)}`)))).toEqual(["header"])
  })
  it("has at most 8 lines", () => {
    expect(headerFindings(ofFile(`/**\n${lines(8, " * Text.")} */\n`))).toEqual([])
    expect(rulesOf(headerFindings(ofFile(`/**\n${lines(9, " * Text.")} */\n`)))).toEqual(["header"])
  })
})

describe("the bans", () => {
  for (const [text, rule] of [
    ["const a = Date.now()", "ambient"],
    ["const a = new Date()", "ambient"],
    ["const a = Math.random()", "ambient"],
    ['const a = process.env["A"]', "ambient"],
    ["console.log(1)", "ambient"],
    ["setTimeout(work, 1)", "ambient"],
    ["globalThis.setTimeout(work, 1)", "ambient"],
    ['import { setTimeout as pause } from "node:timers/promises"', "ambient"],
    ["const a = performance.now()", "ambient"],
    ['import { performance as clock } from "node:perf_hooks"', "ambient"],
    ["const a = crypto.randomUUID()", "ambient"],
    ["const a = globalThis.crypto.randomUUID()", "ambient"],
    ['import { randomUUID as newId } from "node:crypto"', "ambient"],
    ["const a = Queue.unbounded<string>()", "unbounded"],
    ["const a = PubSub.unbounded()", "unbounded"],
    ["openWorkerThread({ queueMax: Infinity })", "unbounded"],
    ["const a = b as any", "cast"],
    ["const a = b as unknown as string", "cast"],
    ["// @ts-ignore\nconst a = b", "banned"],
    ["// @ts-expect-error\nconst a = b", "banned"],
    ["// TODO later\nconst a = b", "banned"],
    ["it.skip('works', work)", "banned"],
    ["describe.only('works', work)", "banned"],
    ['export * from "./A.ts"\nexport { b } from "./B.ts"', "barrel"]
  ] as const) {
    it(`refuse ${JSON.stringify(text)}`, () => {
      expect(rulesOf(banFindings(ofFile(text)))).toEqual([rule])
    })
  }
  it("let dates be made from a given time and code speak about effects", () => {
    expect(banFindings(ofFile('/* Date.now() */ const a = new Date(0)\nconst b = "Math.random()"'))).toEqual([])
  })
  it("let tests and scripts use ambient effects", () => {
    expect(banFindings(ofFile("const a = Date.now()", "scripts/A.ts"))).toEqual([])
  })
  it("let the modules made for an effect use it, and no other", () => {
    expect(banFindings(ofFile("setTimeout(work, 1)", "packages/client/src/Transport.ts"))).toEqual([])
    expect(rulesOf(banFindings(ofFile("const a = Math.random()", "packages/client/src/Transport.ts")))).toEqual([
      "ambient"
    ])
  })
  it("refuse folders named for a kind of code", () => {
    expect(rulesOf(banFindings(ofFile("work()", "packages/engine/src/utils/A.ts")))).toEqual(["folder"])
  })
})

describe("conventions", () => {
  for (const [text, rule] of [
    ["class A {\n  private a = 1\n}", "private-member"],
    ["class A {\n  protected a(): void {}\n}", "private-member"],
    ['import * as Effect from "effect/Effect"', "namespace-import"],
    ['import type * as Effect from "effect/Effect"', "namespace-import"]
  ] as const) {
    it(`refuse ${JSON.stringify(text)}`, () => {
      expect(rulesOf(conventionFindings(ofFile(text)))).toEqual([rule])
    })
  }
  it("let private members be #name, constructors be private, and imports have names", () => {
    const text = 'import { A as B } from "a"\nimport c from "c"\nclass D {\n  #a = 1\n  private constructor() {}\n}'
    expect(conventionFindings(ofFile(text))).toEqual([])
  })
})

describe("the tree", () => {
  it("pins every version", () => {
    const text = JSON.stringify({
      dependencies: { a: "1.2.3", b: "^1.2.3" },
      devDependencies: { c: "latest", d: "1.0.0-rc.1" }
    })
    expect(manifestFindings({ path: "package.json", text }).map(({ message }) => message.split(" ")[0])).toEqual([
      "b",
      "c"
    ])
  })
  it("has a README in every package", () => {
    const paths = ["packages/a/package.json", "packages/a/README.md", "packages/b/package.json"]
    expect(readmeFindings(paths).map(({ path }) => path)).toEqual(["packages/b"])
  })
  for (const [what, text, rule] of [
    ["a home directory", "see /home/someone/notes", "machine-path"],
    ["a work directory", 'const a = "/work/tree"', "machine-path"],
    ["a drive", "C:\\Users", "machine-path"],
    ["a registry", "https://registry.example.com/a", "registry-host"],
    ["a mirror", "mirror.corp.example.net", "registry-host"]
  ] as const) {
    it(`names nowhere ${what}`, () => {
      expect(rulesOf(textFindings({ path: "a.md", text }))).toEqual([rule])
    })
  }
  it("may name routes and relative paths", () => {
    const text = "GET /v1/memories, http://127.0.0.1:8787/work/x, ./home/a, npm.run, docs/root/a"
    expect(textFindings({ path: "a.md", text })).toEqual([])
  })
})
