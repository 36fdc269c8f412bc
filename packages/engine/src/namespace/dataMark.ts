/**
 * Superimposed coding of the values in data: each field with a value sets `bitsPerValue` of 52 bits, and data may have
 * certain values only if it has all of their bits. Data of three values lets one in 200 others through by chance.
 *
 * Invariant: the mark of data that has the values of a filter (`hasValues`) holds all bits of the filter's mark.
 */
import type { JsonObject } from "@muniment/domain/Memory"

/** Two words in one number, below 2^52. */
const wordBits = 26
const wordSize = 2 ** wordBits

const bitsPerValue = 3

export const dataMark = (data: JsonObject): number => {
  const words: [number, number] = [0, 0]
  for (const [name, value] of Object.entries(data)) {
    if (Array.isArray(value)) for (const one of value) addValue(words, name, one)
    else addValue(words, name, value)
  }
  return words[1] * wordSize + words[0]
}

/** Undefined: the data was not read. */
export const mayHave = (mark: number | undefined, wanted: number): boolean => {
  if (mark === undefined) return true
  const low = wanted % wordSize
  const high = Math.floor(wanted / wordSize)
  return ((mark % wordSize) & low) === low && (Math.floor(mark / wordSize) & high) === high
}

/** Objects and lists in lists are no value of a filter. */
const addValue = (words: [number, number], name: string, value: unknown): void => {
  if (typeof value === "object" && value !== null) return
  let hash = hashOf(`${name}\0${typeof value}\0${String(value)}`)
  for (let bit = 0; bit < bitsPerValue; bit++) {
    const at = (hash >>> 16) % (2 * wordBits)
    if (at < wordBits) words[0] |= 1 << at
    else words[1] |= 1 << (at - wordBits)
    hash = Math.imul(hash, 0x9e3779b1) + 0x7f4a7c15
  }
}

/** FNV-1a over UTF-16 units. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}
