/** A process of a service under test, and where it takes callers. */
export interface ServedProcess {
  readonly url: string
  /** Undefined: not known. */
  readonly pid: number | undefined
}
