/**
 * Vectors by text as two files, `<path>.json` (texts, dimensions) and `<path>.f32` (rows in their
 * order, little-endian). The texts carry the prefixes of their model, as the encoder gets them.
 */
import { readFileSync, writeFileSync } from "node:fs"

export const writeTable = (path: string, table: ReadonlyMap<string, Float32Array>): void => {
  const dims = table.values().next().value?.length ?? 0
  const rows = new Float32Array(table.size * dims)
  let at = 0
  for (const vector of table.values()) rows.set(vector, dims * at++)
  writeFileSync(`${path}.json`, JSON.stringify({ dims, texts: [...table.keys()] }))
  writeFileSync(`${path}.f32`, new Uint8Array(rows.buffer))
}

export const readTable = (path: string): ReadonlyMap<string, Float32Array> => {
  const { dims, texts } = JSON.parse(readFileSync(`${path}.json`, "utf8")) as {
    readonly dims: number
    readonly texts: ReadonlyArray<string>
  }
  const bytes = readFileSync(`${path}.f32`)
  const rows = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
  return new Map(texts.map((text, at) => [text, rows.subarray(at * dims, (at + 1) * dims)]))
}
