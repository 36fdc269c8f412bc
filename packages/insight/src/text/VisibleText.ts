/**
 * Removes invisible characters, which can carry orders to a model unseen by people (Unicode TR 36, UTS 39): bidi controls,
 * tag characters, zero-width text, variation selectors that encode bytes. Runs before any other check.
 *
 * Kept: joiners and variation selectors in emoji and in Indic or Persian words, line feeds and tabs.
 */

const lineBreak = /\r\n?|[\u0085\u2028\u2029]/g
const controls = /[^\P{Cc}\n\t]/gu
/** Bidi controls, zero-width characters, selectors, tags, fillers, annotation marks. */
const ignorable = /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]+/gu
/** One selector and one joiner are typography (some emoji have both); longer runs are hidden bytes. */
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
