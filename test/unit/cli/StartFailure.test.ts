/** Why the service does not start, in words for the operator. */
import { startFailure } from "@muniment/cli/LocalServer"
import { KeyFileFault } from "@muniment/trust/KeyRing"
import { describe, expect, it } from "vitest"

describe("a start that fails", () => {
  it("for its attestation keys says which file to restore, without a stack trace", () => {
    const cause = new Error("its content is inconsistent")
    const fault = new KeyFileFault({ reason: "damaged", path: "data/attestation-keys.json", cause })
    expect(startFailure(fault)?.reason).toBe(
      "data/attestation-keys.json (damaged): its content is inconsistent; restore it from a backup, a new key would disown every attestation"
    )
  })

  it("for an unknown cause keeps its stack trace", () => {
    expect(startFailure(new Error("a defect"))).toBeUndefined()
  })
})
