/**
 * Untrusted text (a grant, an attestation) made safe for a terminal: characters that move the cursor, or hide or reorder
 * the text beside them, are written as escapes.
 */

// Controls, and the invisible and bidirectional marks of Unicode.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

export const shownText = (text: string): string =>
  text.replaceAll(hidden, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
