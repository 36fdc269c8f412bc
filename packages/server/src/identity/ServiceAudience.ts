/**
 * Origins by which wallets may name this service (contract: Wallet signatures). With a public URL it is that one's, and
 * for requests of this machine also the loopback address, by which its own commands call. Without one, it is the address
 * that the service listens on and the names of loopback, with its port: the `Host` header proves nothing, because the
 * sender of a copied request chooses it.
 */
import { networkInterfaces } from "node:os"
import { Option } from "effect"
import type { Audience } from "@muniment/trust/SignatureVerifier"
import type { RequestOrigin } from "./ClientAddress.ts"
import { anyHosts, isLocalCaller } from "./LocalCaller.ts"

/** Signed statements that have to name the service: none, requests, grants, or both. */
export const audienceRules = ["off", "requests", "grants", "all"] as const
export type AudienceRule = (typeof audienceRules)[number]

export interface ServiceAudience {
  readonly ofRequest: (request: RequestOrigin) => Audience
  readonly ofGrants: Audience
}

export const serviceAudience = (options: {
  readonly publicUrl: Option.Option<string>
  readonly host: string
  readonly port: number
  readonly requireAudience: AudienceRule
}): ServiceAudience => {
  const { host, port, publicUrl, requireAudience } = options
  const name = Option.getOrUndefined(Option.map(publicUrl, (url) => new URL(url).origin))
  const local = new Set(localHosts(host).map((each) => new URL(`http://${each}:${port}`).origin))
  const audience = (isLocal: boolean, rule: AudienceRule): Audience => ({
    name,
    isOwn: (origin) => origin === name || (isLocal && local.has(origin)),
    isRequired: requireAudience === rule || requireAudience === "all"
  })
  return {
    ofRequest: (request) => audience(name === undefined || isLocalCaller(request, host), "requests"),
    ofGrants: audience(name === undefined, "grants")
  }
}

const localHosts = (host: string): ReadonlyArray<string> => {
  const own = anyHosts.has(host)
    ? Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address))
    : [host]
  // An address that is only valid on one link has a suffix that no URL takes.
  const hosts = ["localhost", "127.0.0.1", "::1", ...own.filter((each) => !each.includes("%"))]
  return hosts.map((each) => (each.includes(":") ? `[${each}]` : each))
}
