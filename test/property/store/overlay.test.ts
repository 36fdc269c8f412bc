/**
 * Any order of commits, and of moments at which the copy follows, answers as a store whose file has followed
 * each commit: every row, word, hash, key and count after every step.
 */
import { expect } from "vitest"
import { Effect } from "effect"
import { memoryColumns } from "@muniment/engine/text/MemoryText"
import type { CommandChanges, MemoryChange } from "@muniment/engine/store/Commit"
import type { OpenNamespace } from "@muniment/engine/store/NamespaceStore"
import { temporaryDirectory } from "../../component/sqlite/TemporaryDirectory.ts"
import { axisVector, memoryRecord, namespaceKey } from "../../support/EngineFixtures.ts"
import { chosenSeed, SeededRandom } from "../../support/SeededRandom.ts"
import { openedIn } from "../../support/SharedLog.ts"
import { put, unit } from "../../support/storeConformance.ts"
import { it } from "../../support/it.ts"

const steps = 60
const slotsMax = 120
const words = ["narwhal", "quagga", "zebra"]
const key = namespaceKey()

/** Commits as a planner would make them, over few slots, contents and keys, so that they meet. */
class Planner {
  readonly #random: SeededRandom
  readonly #ids = new Map<number, number>()
  #nextId = 0
  #nextKey = 0

  constructor(random: SeededRandom) {
    this.#random = random
  }

  get keys(): ReadonlyArray<string> {
    return Array.from({ length: this.#nextKey }, (_, at) => `key ${at}`)
  }

  get ids(): number {
    return this.#nextId
  }

  group(): ReadonlyArray<CommandChanges> {
    return Array.from({ length: this.#random.between(1, 3) }, () => {
      const changes = Array.from({ length: this.#random.between(0, 3) }, () => this.#change())
      const token = this.#random.between(0, 1) === 0 ? undefined : `key ${this.#nextKey++}`
      return unit(changes, token)
    })
  }

  #change(): MemoryChange {
    // Most are insertions, which the overlay holds; the others touch what it holds, or what the copy has.
    const isInsertion = this.#random.between(0, 3) > 0 && this.#ids.size < slotsMax
    const slot = isInsertion ? this.#freeSlot() : this.#random.between(0, slotsMax)
    const id = this.#ids.get(slot)
    const action = id === undefined ? 0 : this.#random.between(0, 6)
    if (id === undefined) {
      this.#ids.set(slot, this.#nextId)
      return put(slot, this.#record(this.#nextId++), this.#random.between(0, 1) === 0 ? undefined : axisVector(slot))
    }
    if (action === 1) {
      this.#ids.delete(slot)
      return { _tag: "Remove", slot }
    }
    if (action === 2) {
      const record = { ...this.#record(id), tags: ["tagged"], updatedAt: this.#nextId }
      return { _tag: "Patch", slot, record, columns: memoryColumns(record) }
    }
    if (action === 3) return { _tag: "Embed", slot, isPassage: false, vector: axisVector(slot + 1) }
    return put(slot, this.#record(id), axisVector(slot))
  }

  #freeSlot(): number {
    let slot = this.#random.between(0, slotsMax)
    while (this.#ids.has(slot)) slot = (slot + 1) % (slotsMax + 1)
    return slot
  }

  #record(id: number) {
    const subjectId = this.#random.between(0, 1) === 0 ? undefined : "s"
    return memoryRecord(id, words[this.#random.between(0, words.length - 1)]!, { subjectId })
  }
}

const answers = Effect.fnUntraced(function* (file: OpenNamespace, planner: Planner) {
  const slots = Array.from({ length: slotsMax + 1 }, (_, at) => at)
  const ids = Array.from({ length: planner.ids }, (_, at) => memoryRecord(at, "").id)
  const hashes = words.flatMap((word) => [undefined, "s"].map((subject) => [word, subject] as const))
  return {
    one: yield* Effect.forEach(slots, (slot) => file.record(slot)),
    all: yield* file.records(slots.toReversed()),
    ids: yield* Effect.forEach(ids, (id) => file.slotOf(id)),
    contents: yield* Effect.forEach(hashes, ([word, subject]) =>
      file.slotsOfContent(memoryRecord(0, word).contentHash, subject)
    ),
    results: yield* Effect.forEach(planner.keys, (one) => file.storedResult(one)),
    words: words.map((word) => file.postings.occurrences(word)),
    bytes: file.bytes()
  }
})

const lengthsOf = (file: OpenNamespace) => {
  const lengths: Array<readonly [number, number]> = []
  file.postings.forEachLength((slot, tokens) => lengths.push([slot, tokens]))
  return lengths
}

it.effect("an overlay and a copy that follows later answer as a file that has everything", function* () {
  const random = new SeededRandom(chosenSeed())
  const planner = new Planner(random)
  const plain = yield* openedIn(temporaryDirectory(), key)
  const file = yield* openedIn(temporaryDirectory(), key)
  let seq = 0
  for (let at = 0; at < steps; at++) {
    const group = planner.group()
    const expected = yield* plain.commit(seq, group, at)
    yield* plain.whole((all) => all.countWithoutVector("m"))
    expect(yield* file.commit(seq, group, at)).toBe(expected)
    seq = expected
    // In between, the copy follows; reads before it are answered by the overlay.
    if (random.between(0, 4) === 0)
      expect(yield* file.whole((all) => all.countWithoutVector("m"))).toBe(
        yield* plain.whole((all) => all.countWithoutVector("m"))
      )
    expect(yield* answers(file, planner)).toEqual(yield* answers(plain, planner))
    expect(lengthsOf(file)).toEqual(lengthsOf(plain))
  }
})
