/** Settings that make a process a node of a cluster, checked. */
import { isIP } from "node:net"
import { Data, Effect, Option, Redacted } from "effect"
import type { ServerConfig } from "../Config.ts"

export interface ClusterSettings {
  readonly databaseUrl: Redacted.Redacted
  readonly bases: string
  readonly secret: Redacted.Redacted
  /** Address at which other nodes reach this one; requests on the port after it. */
  readonly host: string
  readonly port: number
}

/** A setting of the cluster is missing or unusable. */
export class ClusterMisconfigured extends Data.TaggedError("ClusterMisconfigured")<{ readonly message: string }> {}

/** Bytes of the secret; it is random, and a handshake can be used to try guesses. */
const secretBytesMin = 32
/** Requests have the port after it. */
const portMax = 65_534

/** Undefined: one machine. */
export const clusterSettings = ({
  cluster
}: Pick<ServerConfig, "cluster">): Effect.Effect<ClusterSettings | undefined, ClusterMisconfigured> => {
  const { bases, databaseUrl, host, port, secret } = cluster
  const wrong = (message: string) => Effect.fail(new ClusterMisconfigured({ message }))
  if (Option.isNone(databaseUrl)) return Effect.undefined
  const url = Redacted.value(databaseUrl.value)
  if (!/^postgres(?:ql)?:\/\/./.test(url) || !URL.canParse(url))
    return wrong("MUNIMENT_DATABASE_URL: has to be a postgres:// URL, with one host and port at most")
  if (Option.isNone(bases) || bases.value === "")
    return wrong("MUNIMENT_BASES: a cluster needs a folder that all nodes see, or s3://bucket/prefix")
  if (Option.isNone(secret) || Buffer.byteLength(Redacted.value(secret.value)) < secretBytesMin)
    return wrong(
      `MUNIMENT_CLUSTER_SECRET: all nodes need the same random text of ${secretBytesMin} bytes or more, as "openssl rand -hex 32" makes it`
    )
  if (port > portMax) return wrong(`MUNIMENT_NODE_PORT: at most ${portMax}, requests have the port after it`)
  if (host === "0.0.0.0" || host === "::" || (isIP(host) === 0 && !/^[\w.-]+$/.test(host)))
    return wrong("MUNIMENT_NODE_HOST: the address or name by which the other nodes reach this one")
  return Effect.succeed({ databaseUrl: databaseUrl.value, bases: bases.value, secret: secret.value, host, port })
}

/** The name of a node is where the others reach it, so that no two have the same. */
export const nodeName = ({ host, port }: Pick<ClusterSettings, "host" | "port">): string => `${host}:${port}`

/** Address at which a node takes connections with requests from other nodes. */
export const linkAddress = (name: string): { readonly host: string; readonly port: number } => {
  const at = name.lastIndexOf(":")
  return { host: name.slice(0, at), port: Number(name.slice(at + 1)) + 1 }
}
