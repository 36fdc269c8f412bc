/** Which circles of imports `tidy` finds, between files and between folders. */
import { describe, expect, it } from "vitest"
import { circleFindings } from "../../../scripts/tidy/Circles.ts"
import { importGraph } from "../../../scripts/tidy/ImportGraph.ts"
import { makeSourceFile } from "../../../scripts/tidy/SourceFile.ts"

const source = "packages/engine/src"
/** "a -> b": the file `a` imports the file `b`; `type` in front: a type of it. */
const circlesOf = (...arrows: ReadonlyArray<string>) => {
  const texts = new Map<string, string>()
  for (const arrow of arrows) {
    const [, kind = "", from = "", to = ""] = /^(type )?(\S+) -> (\S+)$/.exec(arrow) ?? []
    const up = "../".repeat(from.split("/").length - 1)
    texts.set(from, `${texts.get(from) ?? ""}import ${kind}{ A } from "./${up}${to}.ts"\n`)
    texts.set(to, texts.get(to) ?? "")
  }
  const files = [...texts].map(([path, text]) => makeSourceFile(`${source}/${path}.ts`, text))
  return circleFindings(importGraph(files)).map(({ rule, message }) => [rule, message.replaceAll(`${source}/`, "")])
}

describe("a circle of files", () => {
  it("is found, with the shortest way round", () => {
    expect(circlesOf("A -> B", "B -> C", "C -> A", "B -> D", "D -> C")).toEqual([
      ["file-circle", "A.ts -> B.ts -> C.ts -> A.ts"]
    ])
  })
  it("may consist of types", () => {
    expect(circlesOf("A -> B", "type B -> A")).toEqual([["file-circle", "A.ts -> B.ts -> A.ts"]])
  })
  it("is found once for each group of files", () => {
    expect(circlesOf("A -> B", "B -> A", "C -> D", "D -> C")).toHaveLength(2)
  })
  it("is none if two ways lead to one file", () => {
    expect(circlesOf("A -> B", "A -> C", "B -> D", "C -> D")).toEqual([])
  })
  it("may pass the name of the package", () => {
    const files = ['import { B } from "@muniment/engine/B"', 'import { A } from "./A.ts"'].map((text, index) =>
      makeSourceFile(`${source}/${"AB"[index]}.ts`, text)
    )
    expect(circleFindings(importGraph(files))).toMatchObject([{ path: `${source}/A.ts`, line: 1 }])
  })
})

describe("a circle of folders", () => {
  it("is found between folders side by side", () => {
    expect(circlesOf("x/A -> y/B", "y/C -> x/D")).toEqual([["folder-circle", "x -> y -> x"]])
  })
  it("is found between folders deeper in", () => {
    expect(circlesOf("x/y/A -> x/z/B", "x/z/C -> x/y/D")).toEqual([["folder-circle", "x/y -> x/z -> x/y"]])
  })
  it("counts what is deeper in for the folders in which the paths part", () => {
    expect(circlesOf("x/y/A -> z/B", "z/C -> x/D")).toEqual([["folder-circle", "x -> z -> x"]])
  })
  it("is found between a folder and a file beside it", () => {
    expect(circlesOf("A -> x/B", "x/C -> A")).toEqual([["folder-circle", "A.ts -> x -> A.ts"]])
  })
  it("is none between a folder and two files beside it", () => {
    expect(circlesOf("A -> x/B", "x/C -> D")).toEqual([])
  })
})
