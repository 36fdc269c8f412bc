/** Whom memories are about, with the names that they are called by. */
import type { SubjectPage } from "@muniment/domain/Context"
import { call } from "./api.ts"

export type Person = SubjectPage["subjects"][number]

const pageSize = 100
const readMax = 1_000

export interface Everyone {
  readonly people: ReadonlyArray<Person>
  readonly isWhole: boolean
}

/** Names are no part of the service's own search for subjects: they are read with all of them. */
export const everyone = async (agentId: string, signal: AbortSignal): Promise<Everyone> => {
  const people: Array<Person> = []
  let cursor: string | undefined
  do {
    const query = { agentId, limit: pageSize, conflicts: true, cursor }
    const page: SubjectPage = await call("GET", "/v1/subjects", { query, signal })
    people.push(...page.subjects)
    cursor = page.nextCursor
  } while (cursor !== undefined && people.length < readMax)
  return { people, isWhole: cursor === undefined }
}

export const isCalled = (name: string) => {
  const wanted = name.trim().toLowerCase()
  return ({ names, subjectId }: Person): boolean =>
    [subjectId, ...names].some((each) => each.toLowerCase().includes(wanted))
}
