/** Failures between nodes: each class comes back as itself. */
import { expect, it } from "vitest"
import { fromFailure, toFailure } from "@muniment/cluster/wire/Commands"
import { InsufficientStorage, memoryNotFound, PayloadTooLarge, Unavailable, Conflict } from "@muniment/domain/Errors"

const failures = [
  memoryNotFound(),
  new Conflict({ code: "idempotency_conflict", error: "another body" }),
  new PayloadTooLarge({ code: "quota_exceeded", error: "too many", quota: { name: "memories", limit: 10, used: 10 } }),
  new InsufficientStorage({ code: "insufficient_storage", error: "full" }),
  new Unavailable({ code: "namespace_unavailable", error: "again" })
]

it.each(failures.map((failure) => [failure._tag, failure] as const))("%s arrives as it was", (_, failure) => {
  const arrived = fromFailure(toFailure(failure))
  expect(arrived).toBeInstanceOf(failure.constructor)
  expect({ ...arrived }).toEqual({ ...failure })
})
