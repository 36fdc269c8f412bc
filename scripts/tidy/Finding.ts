/** A violation of a rule: where (line 0: the file as a whole) and why. */
export interface Finding {
  readonly path: string
  readonly line: number
  readonly rule: string
  readonly message: string
}

export const findingText = ({ path, line, rule, message }: Finding): string =>
  `${path}${line > 0 ? `:${line}` : ""}  ${rule}: ${message}`
