/** Every command, carried out as it arrives after it was sent, and its reply. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { decodeCommand, decodeReply, encodeCommand, encodeReply } from "@muniment/cluster/wire/Commands"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { Command } from "@muniment/engine/namespace/Commands"
import {
  axisVector,
  creating,
  engineOf,
  extracting,
  memoryRecord,
  messageRecord,
  namespaceKey,
  newMemory,
  turnOf
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

const key = namespaceKey()
const id = (number: number): string => memoryRecord(number, "").id
const idempotency = { key: "another", fingerprint: "f" }
const awaits = {
  id: "1a7e",
  messages: [{ key: turnOf(5).key, readKey: turnOf(6).key }],
  kinds: undefined,
  conversationDate: "2024-02-29",
  expiresAt: undefined
}

/** One of each at least, in an order in which each changes something. */
const commands = {
  StoreMemories: [
    creating([newMemory(memoryRecord(1, "in rome", { expiresAt: 1e12 }), axisVector(2))], "once"),
    { ...creating([newMemory(memoryRecord(2, "in rome"))]), skipsDuplicates: true },
    creating([
      newMemory(messageRecord(5, "hello", { data: { role: "user", text: "\ud83d\ude00", nested: [{ a: null }] } }))
    ]),
    extracting([1, 2], [memoryRecord(3, "of both")], {
      summary: "both",
      expiresAt: 1e12,
      context: { readAt: { owner: "another", count: 0 }, expiresAt: undefined }
    }),
    extracting([6], [], { isForced: true, awaits }),
    extracting([7], [], {
      reads: "1a7e",
      shown: [{ id: id(3), contentHash: memoryRecord(3, "of both").contentHash }],
      withheld: ["0001"]
    }),
    extracting([], [], { awaits: { ...awaits, id: "1a7f", instructions: "Only \ud83d\ude00." } }),
    {
      ...creating([]),
      moves: [
        { id: id(1), from: "k", to: "l", version: "v" },
        { id: id(2), from: "k", to: undefined, version: "v" }
      ]
    }
  ],
  PatchMemories: [
    { _tag: "PatchMemories", ids: [id(1)], patch: { tags: ["x"], expiresAt: null }, atMillis: 5, idempotency }
  ],
  GiveFeedback: [
    {
      _tag: "GiveFeedback",
      id: id(1),
      feedback: { useful: true, query: "q", at: 5e12, by: "k" },
      idempotency: undefined
    }
  ],
  RemoveMemories: [{ _tag: "RemoveMemories", ids: [id(1), "none"], idempotency: undefined }],
  ImportRecords: [
    { _tag: "ImportRecords", records: [{ record: memoryRecord(8, "back"), vector: undefined }], skipsDuplicates: false }
  ],
  StoreVectors: [
    {
      _tag: "StoreVectors",
      vectors: [{ id: id(8), contentHash: memoryRecord(8, "back").contentHash, vector: axisVector(8) }]
    }
  ],
  RemoveMatching: [{ _tag: "RemoveMatching", filter: { kind: "none", anyOf: [{}] } }],
  Sweep: [{ _tag: "Sweep" }, { _tag: "Sweep", expiredBy: 7 }],
  RemoveCreatedBefore: [{ _tag: "RemoveCreatedBefore", beforeMillis: 1e15 }]
} satisfies { readonly [T in Command["_tag"]]: ReadonlyArray<Extract<Command, { readonly _tag: T }>> }

const sent = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes)

it("the keys of a memory's data keep their order", () => {
  const command = creating([
    newMemory(memoryRecord(1, "x", { data: { subject: "Ann", fact: "x", b: { z: 1, a: 2 } } }))
  ])
  const arrived = decodeCommand(sent(encodeCommand(command)))
  expect(JSON.stringify(arrived)).toContain('{"subject":"Ann","fact":"x","b":{"z":1,"a":2}}')
})

it.effect("commands and replies of every kind are the same after they were sent", () =>
  Effect.gen(function* () {
    const host = yield* NamespaceHost
    const changed: Array<string> = []
    for (const command of Object.values(commands).flat() as ReadonlyArray<Command>) {
      const arrived = decodeCommand(sent(encodeCommand(command)))
      expect(arrived).toEqual(command)
      const reply = yield* host.ask(key, arrived)
      expect(decodeReply(command, sent(encodeReply(command, reply)))).toEqual(reply)
      if (typeof reply === "number" ? reply > 0 : JSON.stringify(reply).includes(id(1).slice(0, 5)))
        changed.push(command._tag)
    }
    expect(new Set(changed)).toEqual(
      new Set([
        "StoreMemories",
        "PatchMemories",
        "GiveFeedback",
        "RemoveMemories",
        "ImportRecords",
        "StoreVectors",
        "RemoveCreatedBefore"
      ])
    )
  }).pipe(Effect.provide(engineOf(temporaryDirectory())))
)

it("vectors of the passages of a long message are sent with the first one", () => {
  const vector = { ...axisVector(2), passages: [axisVector(3).values, axisVector(4).values] }
  const command = creating([newMemory(memoryRecord(1, "long"), vector)])
  expect(decodeCommand(sent(encodeCommand(command)))).toEqual(command)
})

it("bytes that are no command are refused", () => {
  expect(() => decodeCommand(new Uint8Array([255, 1, 2, 3]))).toThrow()
  expect(() => decodeCommand(new Uint8Array())).toThrow()
})
