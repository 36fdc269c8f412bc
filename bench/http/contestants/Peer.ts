/**
 * Requests to the peers that are libraries, and the fusion that those with two lists of candidates use. The service's
 * own requests are larger; its peers are not made to pay for that.
 */
export interface PeerMemory {
  readonly id: string
  readonly subject: string
  readonly name: string
  readonly text: string
}

export interface PeerStore {
  readonly memories: ReadonlyArray<PeerMemory>
}

export interface PeerQuery {
  readonly text: string
  readonly subject?: string | undefined
  readonly limit: number
}

export type FoundMemory = PeerMemory

/** As many of each half as the service takes (`Limits.searchCandidatesMax`). */
export const candidatesMax = 100

/** Of Cormack, Clarke and Buettcher's paper (SIGIR 2009). */
const rankConstant = 60

/** Reciprocal rank fusion: the ids of all lists, best first. */
export const fuseRanks = <Id>(lists: ReadonlyArray<ReadonlyArray<Id>>, limit: number): ReadonlyArray<Id> => {
  const scores = new Map<Id, number>()
  for (const list of lists) {
    for (const [rank, id] of list.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (rankConstant + rank + 1))
  }
  return [...scores]
    .sort(([, left], [, right]) => right - left)
    .slice(0, limit)
    .map(([id]) => id)
}

/** Words of a query, quoted one by one, any of which may match: no text of a caller reaches a query language. */
export const anyWord = (text: string): string =>
  [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])].map((word) => `"${word}"`).join(" OR ")

/** Where a server of a peer keeps its files. */
export const dataDirectory = (): string => {
  const directory = process.env["PEER_DATA"]
  if (directory === undefined) throw new Error("PEER_DATA names no directory")
  return directory
}
