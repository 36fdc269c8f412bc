/** The folded form of a text: compatibility forms, lower case, no diacritics. Indic and Kana marks are kept. */
// Written as a negation, so that the class also covers control characters.
const ASCII = /^[^\u0080-\u{10ffff}]*$/u
/** Latin, Greek and Cyrillic diacritics, Hebrew points, Arabic vowel marks. */
const DIACRITICS = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670]/gu
/** Letters that NFKD does not decompose although they are often typed in ASCII. */
const UNDECOMPOSED = /[ßæœøđłıþðς]/gu
const DECOMPOSED: ReadonlyMap<string, string> = new Map(
  Object.entries({ ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ł: "l", ı: "i", þ: "th", ð: "d", ς: "σ" })
)

export const foldWord = (text: string): string =>
  // Lower-cased first, because "İ" decomposes only then, and last, because forms such as "ℌ" become upper case.
  ASCII.test(text)
    ? text.toLowerCase()
    : text
        .toLowerCase()
        .normalize("NFKD")
        .replace(DIACRITICS, "")
        .normalize("NFC")
        .toLowerCase()
        .replace(UNDECOMPOSED, (letter) => DECOMPOSED.get(letter) ?? letter)
