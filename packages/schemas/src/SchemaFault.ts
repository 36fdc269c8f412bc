/**
 * Reason why a schema text is refused, as plain data: the validation thread runs the same gate as the server, and starts
 * twice as fast without the modules of error classes.
 */

/** `path` is a JSON pointer into the schema, `reason` a sentence for its author, path included. */
export interface SchemaFault {
  readonly path: string
  readonly reason: string
}

const pathLengthMax = 256

/** Refuses the place `path`; the pointer is cut, because its author chooses the length. */
export const faultAt = (path: string, why: string): SchemaFault => {
  const shown = shortened(path, pathLengthMax)
  return { path: shown, reason: shown === "" ? `schema: ${why}` : `schema at ${shown}: ${why}` }
}

/** Cuts user-chosen text to `lengthMax` UTF-16 units before it enters a message. */
export const shortened = (text: string, lengthMax: number): string =>
  text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`
