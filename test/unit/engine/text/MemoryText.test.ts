import { describe, expect, it } from "vitest"
import { DENSE_TEXT_LENGTH_MAX, denseText, FLATTENED_DEPTH_MAX, memoryColumns } from "@muniment/engine/text/MemoryText"
import { tokenize } from "@muniment/language/text/Tokenizer"

const fact = { kind: "factual_memory", data: { subject: "Ann Lee", fact: "lives in Lisbon" }, tags: ["home"] }

describe("memoryColumns", () => {
  it("puts what a memory is about into the subject column and its other values into main, without keys", () => {
    const columns = memoryColumns({ ...fact, mentions: [{ name: "Ann Lee" }, { name: "Rossio" }] })
    expect(columns.subject).toEqual(tokenize("Ann Lee Rossio"))
    expect(columns.main).toEqual(tokenize("lives in Lisbon"))
    expect(columns.tags).toEqual(["home"])
    expect(columns.neighbours).toEqual([])
    expect(columns.when).toEqual([])
  })

  it("reads the date as people say it", () => {
    expect(memoryColumns({ ...fact, when: "2023-05-08T13:56:00.000Z" }).when).toEqual(
      tokenize("2023 05 08 May 8 Monday")
    )
    expect(
      memoryColumns({ kind: "temporal_event", data: { event: "launch", eventDate: "2024-02-29" }, tags: [] }).main
    ).toEqual(tokenize("launch 2024 02 29 February 29 Thursday"))
  })

  it("adds the key to a number or true", () => {
    const { main } = memoryColumns({
      kind: "profile",
      data: { shoeSize: 43, is_vegetarian: true, smoker: false, pet: null },
      tags: []
    })
    expect(main).toEqual(tokenize("shoe size 43 is vegetarian"))
  })

  it("walks nested data depth-first and stops at the depth limit", () => {
    const nested = {
      kind: "k",
      data: { outer: { first: "alpha", list: ["beta", { deep: "gamma" }] }, last: "delta" },
      tags: []
    }
    expect(memoryColumns(nested).main).toEqual(tokenize("alpha beta gamma delta"))
    let data: unknown = "bottom"
    for (let depth = 0; depth < FLATTENED_DEPTH_MAX + 5; depth++) data = { inner: data }
    expect(memoryColumns({ kind: "k", data, tags: [] }).main).toEqual([])
  })

  it("takes data that is no object", () => {
    expect(memoryColumns({ kind: "note", data: "plain text", tags: [] }).main).toEqual(tokenize("plain text"))
    expect(memoryColumns({ kind: "note", data: null, tags: [] }).main).toEqual([])
  })
})

describe("denseText", () => {
  it("reads subject, values, then the kind in words", () => {
    expect(denseText(fact)).toBe("Ann Lee: lives in Lisbon (factual memory)")
    expect(denseText({ kind: "note", data: { text: "alone" }, tags: [] })).toBe("alone (note)")
  })

  it("is bounded", () => {
    const long = denseText({ kind: "note", data: { text: "word ".repeat(10_000) }, tags: [] })
    expect(long.length).toBeLessThan(DENSE_TEXT_LENGTH_MAX + 20)
  })
})
