import {
  catalog,
  isKnownVector,
  modelById,
  modelPreference,
  onnxPath,
  tokenizerPath
} from "@muniment/models/ModelCatalog"
import { describe, expect, it } from "vitest"

describe("the catalogue", () => {
  it("names each model once, and ranks each", () => {
    expect(new Set(catalog.map((spec) => spec.id)).size).toBe(catalog.length)
    expect([...modelPreference].sort()).toEqual(catalog.map((spec) => spec.id).sort())
  })

  it.each(catalog)("pins every file of $id by size and sha256", (spec) => {
    for (const file of spec.files) {
      expect(file.sha256).toMatch(/^[0-9a-f]{64}$/)
      expect(file.bytes).toBeGreaterThan(0)
    }
  })

  it("never gives two models the same weights", () => {
    const weights = catalog.flatMap((spec) => spec.files.filter((file) => file.path.endsWith(".onnx")))
    expect(new Set(weights.map((file) => file.sha256)).size).toBe(catalog.length)
  })

  it.each(catalog)("gets every file of $id from each of its registry sources", (spec) => {
    for (const source of spec.sources) {
      if (source.kind === "hub") continue
      const delivered = source.archives.flatMap(({ converted, entries }) => [
        ...Object.keys(entries),
        ...(converted === undefined ? [] : [onnxPath, tokenizerPath])
      ])
      expect(delivered.sort()).toEqual(spec.files.map((file) => file.path).sort())
    }
  })

  it.each(catalog)("pins an exact version of each package that carries $id", (spec) => {
    for (const source of spec.sources) {
      if (source.kind === "hub") continue
      for (const { coordinate } of source.archives) expect(coordinate).toMatch(/(==|:)\d+\.\d+\.\d+[\w.-]*$/)
    }
  })

  const known = catalog.filter((spec) => spec.knownVector.length > 0)
  it.each(known)("tells the known vector of $id from that of every other model", (spec) => {
    for (const other of known) {
      const vector = new Float32Array(other.dims)
      vector.set(other.knownVector)
      expect(isKnownVector(spec, vector)).toBe(other.id === spec.id)
    }
  })

  it("knows a vector of each model that a registry carries", () => {
    const others = catalog.filter((spec) => !known.includes(spec))
    expect(others.flatMap(({ sources }) => sources.map(({ kind }) => kind))).toEqual(["hub"])
  })

  it("has no entry for an unknown id", () => {
    expect(modelById("word2vec")).toBeUndefined()
  })
})
