/**
 * Text from strangers (a grant, an attestation) as it may be shown at a terminal: characters that move
 * the cursor, hide or turn what stands beside them are written as escapes.
 */

// Controls, and the invisible and bidirectional marks of Unicode.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

export const shownText = (text: string): string =>
  text.replaceAll(hidden, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
