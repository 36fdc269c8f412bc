/** Failures of a command as a client sees them. */
import {
  InsufficientStorage,
  Unavailable,
  type Conflict,
  type NotFound,
  type PayloadTooLarge
} from "@muniment/domain/Errors"
import type { StoreError } from "../store/StoreError.ts"

export type CommandError = NotFound | Conflict | PayloadTooLarge | InsufficientStorage | Unavailable

export const toClientError = (error: StoreError): InsufficientStorage | Unavailable => {
  switch (error._tag) {
    case "StoreFull":
      return new InsufficientStorage({
        code: "insufficient_storage",
        error: "disk is full: nothing was stored; reads and deletes still work"
      })
    case "StoreDamaged":
      if (error.newer !== undefined) {
        const { found, known } = error.newer
        return unavailable(
          `the file of this agent's memories has version ${found} of a later release, this one knows ${known}: start the later release (operator)`
        )
      }
      return unavailable("the file of this agent's memories is damaged and set aside; run muniment doctor (operator)")
    case "StoreFenced":
      return unavailable("another process serves this agent's memories; run muniment doctor (operator)")
    case "StoreErased":
      return unavailable(
        "this agent was erased with its account, or is being removed because it is empty: repeat the request"
      )
    case "StoreFault":
      return unavailable(
        "storage of this agent failed; the outcome of a write is unknown: repeat it with the same Idempotency-Key"
      )
  }
}

const unavailable = (error: string) => new Unavailable({ code: "namespace_unavailable", error })
