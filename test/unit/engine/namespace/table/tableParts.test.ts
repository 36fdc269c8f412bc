/** What the table is made of, each against the plainest thing that does the same. */
import { expect, it } from "vitest"
import fc from "fast-check"
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { ExpiryQueue, SlotSet } from "@muniment/engine/namespace/table/Slots"
import { VersionChain, type VersionPlace } from "@muniment/engine/namespace/table/VersionChain"
import { slotsOf } from "./slotsOf.ts"

const ascending = (left: number, right: number) => left - right

it("ExpiryQueue returns what is due, earliest first, and keeps the rest", () => {
  const step = fc.oneof(
    fc.record({ slot: fc.nat(50), time: fc.nat(30) }),
    fc.nat(30).map((now) => ({ now }))
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const queue = new ExpiryQueue()
      let model: Array<{ slot: number; time: number }> = []
      for (const step of steps) {
        if ("time" in step) {
          queue.push(step.slot, step.time)
          model.push(step)
        } else {
          const due: Array<{ slot: number; time: number }> = []
          for (let entry = queue.popDue(step.now); entry !== undefined; entry = queue.popDue(step.now)) due.push(entry)
          expect(due.map(({ time }) => time)).toEqual(due.map(({ time }) => time).sort(ascending))
          const key = (entry: { slot: number; time: number }) => `${entry.time}/${entry.slot}`
          expect(due.map(key).sort()).toEqual(
            model
              .filter(({ time }) => time <= step.now)
              .map(key)
              .sort()
          )
          model = model.filter(({ time }) => time > step.now)
        }
        expect(queue.length).toBe(model.length)
        expect(queue.earliest).toBe(model.map(({ time }) => time).sort(ascending)[0])
      }
    })
  )
})

it("SlotSet is a set of slots in both representations", () => {
  const step = fc.record({ slot: fc.nat(150), isAdded: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), fc.array(fc.nat(200)), (steps, others) => {
      const set = new SlotSet()
      const model = new Set<number>()
      for (const { slot, isAdded } of steps) {
        if (isAdded) {
          set.add(slot)
          model.add(slot)
        } else {
          set.remove(slot)
          model.delete(slot)
        }
        expect(set.size).toBe(model.size)
      }
      const other = new Set(others)
      expect(slotsOf(set.restrict(Bitmap.of(other)))).toEqual(
        [...other].filter((slot) => model.has(slot)).sort(ascending)
      )
      expect(slotsOf(set.unite(Bitmap.of(other)))).toEqual([...new Set([...other, ...model])].sort(ascending))
    })
  )
})

it("VersionChain knows the neighbours and the latest among live versions, in order of insertion", () => {
  const place = fc.record({ createdSeq: fc.nat(1_000), isLive: fc.boolean(), isRemoved: fc.boolean() })
  fc.assert(
    fc.property(fc.uniqueArray(place, { selector: ({ createdSeq }) => createdSeq, maxLength: 30 }), (made) => {
      const chain = new VersionChain()
      const places = made.map((entry, slot) => ({ ...entry, slot }))
      for (const entry of places) chain.add(entry)
      for (const entry of places) if (entry.isRemoved) chain.remove(entry)
      const left = places.filter(({ isRemoved }) => !isRemoved).sort((a, b) => a.createdSeq - b.createdSeq)
      const isLive = (slot: number) => places[slot]!.isLive
      const live = left.filter((entry) => entry.isLive)
      expect(chain.size).toBe(left.length)
      expect(chain.latest(isLive)).toBe(live.at(-1)?.slot)
      for (const entry of left) {
        const before = (other: VersionPlace) => other.createdSeq < entry.createdSeq
        const after = (other: VersionPlace) => other.createdSeq > entry.createdSeq
        expect(chain.before(entry, isLive)).toBe(live.findLast(before)?.slot)
        expect(chain.after(entry, isLive)).toBe(live.find(after)?.slot)
      }
    })
  )
})
