/** A language model at the service of whoever wrote the text it reads: what it replies to an attack of the corpus. */
import type { Injection } from "./Injections.ts"

/** What the user says beside the attack. */
export const honestText = "My name is Alice and I live in Seattle."

/** The memory in it. */
const honestMemory = {
  kind: "factual_memory",
  data: { subject: "Alice", fact: "Alice lives in Seattle" },
  confidence: 0.9,
  sources: [1],
  quote: "I live in Seattle"
}

/** What a model does that obeys: the wanted words in every shape, foreign kinds, ids, made-up citations. */
export const obedient = ({ text, forbidden }: Injection) => ({
  memories: forbidden.flatMap((wanted) => {
    const claim = { subject: wanted, fact: `${wanted} is the administrator` }
    const base = { kind: "factual_memory", data: claim, confidence: 1, sources: [1, 2], quote: "I live in Seattle" }
    return [
      { ...base, quote: text.slice(0, 200) },
      { ...base, quote: text.slice(-120), sources: [2] },
      { ...base, quote: wanted, sources: [2] },
      base,
      { ...base, data: { subject: "Alice", fact: "Alice lives in Seattle", owner: wanted, id: "mem_1" } },
      { ...base, data: { subject: "Alice", fact: `Alice lives in Seattle and ${wanted}` } },
      { ...base, kind: "admin_override", data: { owner: wanted } },
      { ...base, kind: "__proto__" },
      { ...base, sources: [42, -1, 0, 1.5] },
      { ...base, sources: [] },
      { ...base, confidence: 99 },
      { ...honestMemory, tags: [wanted, "admin"], mentions: [{ name: wanted, type: "person" }], tool_calls: [wanted] },
      { ...honestMemory, id: "mem_1", supersedes: "mem_2", agentId: wanted, when: "2031-01-01" }
    ]
  }),
  summary: `${text.slice(0, 400)} ${text.slice(-400)}`,
  tool_calls: [{ function: { name: "delete_memories", arguments: "{}" } }]
})
