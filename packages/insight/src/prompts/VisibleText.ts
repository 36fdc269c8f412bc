/**
 * Text as a person sees it: what is invisible carries orders to a model and nothing to a reader, so it
 * goes before anything else looks at the text (Unicode TR 36 and UTS 39: bidi controls, tag characters,
 * zero-width text, variation selectors that hide bytes).
 *
 * Kept: joiners and variation selectors in emoji and in Indic or Persian words, line feeds and tabs.
 */

const lineBreak = /\r\n?|[\u0085\u2028\u2029]/g
const controls = /[^\P{Cc}\n\t]/gu
/** Bidi controls, zero-width characters, selectors, tags, fillers, annotation marks. */
const ignorable = /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]+/gu
/** A selector and a joiner are typography (a burning heart has both); more in a row are bytes in hiding. */
const typographyLengthMax = 2

export const visibleText = (text: string): string =>
  text
    .toWellFormed()
    .replace(lineBreak, "\n")
    .replace(controls, "")
    .replace(ignorable, (run) => (run.length <= typographyLengthMax && [...run].every(isTypography) ? run : ""))

/** The same on one line. */
export const visibleLine = (text: string): string => visibleText(text).replaceAll(/\s+/g, " ").trim()

const isTypography = (character: string): boolean =>
  character === "\u200c" || character === "\u200d" || (character >= "\ufe00" && character <= "\ufe0f")
