/** Address on which the service listens, and a check that it can. */
import { createServer } from "node:net"
import { Data, Effect } from "effect"

export interface Address {
  readonly host: string
  readonly port: number
}

/** The service cannot listen at the configured address. */
export class AddressUnusable extends Data.TaggedError("AddressUnusable")<Address & { readonly cause: unknown }> {
  override get message(): string {
    const { cause, host, port } = this
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : ""
    return `cannot listen on ${host}:${port}: ${addressFaults.get(code) ?? String(cause)}`
  }
}

const addressFaults: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "address already in use; stop what listens there, or set MUNIMENT_PORT"],
  ["EACCES", "this user may not use the port; set MUNIMENT_PORT to one above 1023"],
  ["EADDRNOTAVAIL", "this machine does not have the address; set MUNIMENT_HOST"],
  ["ENOTFOUND", "this machine does not have the address; set MUNIMENT_HOST"],
  ["EAI_AGAIN", "this machine does not have the address; set MUNIMENT_HOST"]
])

/** Tries the address before the slow parts of a start, models above all. */
export const demandFreeAddress = ({ host, port }: Address): Effect.Effect<void, AddressUnusable> =>
  Effect.callback((resume) => {
    const probe = createServer()
    probe.once("error", (cause) => resume(Effect.fail(new AddressUnusable({ host, port, cause }))))
    probe.listen({ host, port }, () => probe.close(() => resume(Effect.void)))
  })
