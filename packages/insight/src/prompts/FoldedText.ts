/**
 * Normalised text for pattern matching: lower case, Latin look-alikes as Latin, no invisible characters, single spaces;
 * and the decoded form of segments in common encodings.
 */
import { Result } from "effect"
import { Base64, Hex } from "effect/encoding"

/** Most segments that are decoded: no honest text has more. */
const encodedSegmentsMax = 8

const zipped = (from: string, to: string): ReadonlyArray<readonly [string, string]> =>
  [...from].map((letter, index) => [letter, to[index] ?? letter])

/** Cyrillic and Greek letters, and digits, that pass for Latin ones; only inside words that have Latin letters too. */
const lookalikes: ReadonlyMap<string, string> = new Map([
  ...zipped("аеорсхуіѕјһԁոкмтвнгѵԛԝɡıℓ", "aeopcxyisjhdnkmtbhrvqwgil"),
  ...zipped("αεορινυκτηχγωσ013457$@", "aeopivuktnxywooieastsa")
])
const mixedWord = /[\p{L}\p{M}\d$@]*[a-z][\p{L}\p{M}\d$@]*/gu
/** Letters spelled apart, as in `i g n o r e`. */
const spelledApart = /\b(?:[a-z][ ._*-]){3,}[a-z]\b/g

export const foldedText = (text: string): string =>
  text
    .normalize("NFKD")
    .replaceAll(/[\p{Default_Ignorable_Code_Point}\u0300-\u036f]/gu, "")
    .toLowerCase()
    .replaceAll(/[’‘ʼ`´]/g, "'")
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll(mixedWord, (word) => word.replaceAll(/./gu, (letter) => lookalikes.get(letter) ?? letter))
    .replaceAll(spelledApart, (word) => word.replaceAll(/[ ._*-]/g, ""))
    .replaceAll(/[^\S\n]+/g, " ")
    .normalize("NFC")

/** Base64 (also the URL form), hex and percent-encoded segments that decode to text. */
export const decodedTexts = (text: string): ReadonlyArray<string> => {
  const base64 = (text.match(/[\w+/-]{20,}={0,2}/g) ?? []).slice(0, encodedSegmentsMax).flatMap((segment) => {
    const unpadded = segment.replace(/=+$/, "").replaceAll("-", "+").replaceAll("_", "/")
    return readable(Base64.decodeString(unpadded.padEnd(Math.ceil(unpadded.length / 4) * 4, "=")))
  })
  const hex = (text.match(/(?:[0-9a-f]{2}[ :]?){12,}/gi) ?? [])
    .slice(0, encodedSegmentsMax)
    .flatMap((segment) => readable(Hex.decodeString(segment.replaceAll(/[ :]/g, ""))))
  const percent = (text.match(/(?:[\w.~-]*%[0-9a-f]{2}){3,}[\w.~-]*/gi) ?? [])
    .slice(0, encodedSegmentsMax)
    .map((segment) =>
      segment.replaceAll(/%([0-7][0-9a-f])/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
    )
  return [...base64, ...hex, ...percent]
}

/** Undefined: not encoded text. */
const readable = (decoded: Result.Result<string, unknown>): ReadonlyArray<string> =>
  Result.isSuccess(decoded) && !/[\ufffd]|[^\P{Cc}\s]/u.test(decoded.success) ? [decoded.success] : []

/** Expects folded text. */
export const rot13 = (folded: string): string =>
  folded.replaceAll(/[a-z]/g, (letter) => String.fromCharCode(((letter.charCodeAt(0) - 97 + 13) % 26) + 97))
