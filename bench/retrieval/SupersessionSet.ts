/**
 * Facts that a later statement contradicts, from two places in one form: thirty of our own
 * (`test/vectors/recall/supersession.json`) and, from a folder named by the caller, the fifty of bolnet/attestor
 * (`supersession.json`, MIT), which declare no key: the key is the case.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

export interface Kind {
  readonly name: string
  readonly uniqueOn: ReadonlyArray<string>
  readonly properties: object
}

export interface FactState {
  /** As a user would say it in a conversation. */
  readonly said: string
  /** Of the kind that declares its unique fields. */
  readonly data: object
  readonly date: string
}

export interface ChangedFact {
  readonly kind: string
  readonly question: string
  readonly older: FactState
  readonly newer: FactState
}

export interface SupersessionSet {
  readonly name: string
  readonly kinds: ReadonlyArray<Kind>
  readonly cases: ReadonlyArray<ChangedFact>
}

interface Session {
  readonly date: string
  readonly turns: ReadonlyArray<{ readonly content: string }>
}

interface AttestorCase {
  readonly case_id: string
  readonly sessions: readonly [Session, Session]
  readonly question: string
}

interface OwnState {
  readonly said: string
  readonly data: object
}

interface OwnCase extends Omit<ChangedFact, "older" | "newer"> {
  readonly older: OwnState
  readonly newer: OwnState
}

const ownFile = join(import.meta.dirname, "..", "..", "test", "vectors", "recall", "supersession.json")
const olderDate = "2026-01-15"
const newerDate = "2026-03-20"

export const readOwnSupersession = (): SupersessionSet => {
  const own: { readonly kinds: ReadonlyArray<Kind>; readonly cases: ReadonlyArray<OwnCase> } = readJson(ownFile)
  const cases = own.cases.map((one) => ({
    ...one,
    older: { ...one.older, date: olderDate },
    newer: { ...one.newer, date: newerDate }
  }))
  return { name: "our own", kinds: own.kinds, cases }
}

/** Undefined when the folder has no such file. */
export const readAttestorSupersession = (folder: string): SupersessionSet | undefined => {
  const file = join(folder, "supersession.json")
  if (!existsSync(file)) return undefined
  const { cases }: { readonly cases: ReadonlyArray<AttestorCase> } = readJson(file)
  const text = { type: "string" }
  const kind = { name: "keyed_fact", uniqueOn: ["factKey"], properties: { factKey: text, fact: text } }
  const stateOf = (one: AttestorCase, { date, turns }: Session): FactState => {
    const said = turns.map(({ content }) => content).join(" ")
    return { said, data: { factKey: one.case_id, fact: said }, date }
  }
  return {
    name: "attestor",
    kinds: [kind],
    cases: cases.map((one) => ({
      kind: kind.name,
      question: one.question,
      older: stateOf(one, one.sessions[0]),
      newer: stateOf(one, one.sessions[1])
    }))
  }
}

const readJson = (file: string) => JSON.parse(readFileSync(file, "utf8"))
