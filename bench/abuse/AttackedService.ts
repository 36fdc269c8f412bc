/** A service that the suite starts for itself, with two accounts without limits; or one that runs already. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { BenchServer } from "../http/BenchServer.ts"
import type { Field } from "./Field.ts"
import { division, keepTo } from "./Processors.ts"
import { viewOf } from "./ServiceView.ts"
import type { Target } from "./Wire.ts"

type Environment = Readonly<Record<string, string>>

export interface OwnServiceOptions {
  readonly environment: Environment
  readonly seconds: number
  /** Folder for V8 processor profiles. */
  readonly profileDirectory?: string | undefined
}

/** Ended afterwards. On a public address: what is closed by default there is closed. */
export const onOwnService = async <Result>(
  options: OwnServiceOptions,
  use: (field: Field) => Promise<Result>
): Promise<Result> => {
  const { environment, profileDirectory, seconds } = options
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-bench-abuse-"))
  const divided = division()
  if (divided !== undefined) keepTo(divided.load)
  const server = await BenchServer.start({
    dataDirectory,
    processors: divided?.service,
    profileDirectory,
    environment: { MUNIMENT_PUBLIC_URL: "https://memory.example.com", ...environment }
  })
  try {
    const token = readFileSync(join(dataDirectory, "operator-token"), "utf8").trim()
    const target = { host: "127.0.0.1", port: server.port }
    const newKey = async (account: string): Promise<string> => {
      const { secret } = await asOperator<{ readonly secret: string }>(target, token, "/admin/keys", {
        account,
        plan: "owner"
      })
      return secret
    }
    return await use({
      target,
      view: viewOf(target, server),
      attackerKey: await newKey("noisy"),
      victimKey: await newKey("quiet"),
      own: {
        newKey,
        linkWallet: async (account, address) =>
          void (await asOperator(target, token, "/admin/wallets", { account, address })),
        withAnother: (more, useAnother) =>
          onOwnService({ ...options, environment: { ...environment, ...more } }, useAnother)
      },
      seconds
    })
  } finally {
    await server.stop()
    rmSync(dataDirectory, { recursive: true, force: true })
  }
}

const asOperator = async <Answer>(
  { host, port }: Target,
  token: string,
  path: string,
  body: object
): Promise<Answer> => {
  const response = await fetch(`http://${host}:${port}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  if (!response.ok) throw new Error(`${path} answered ${response.status}`)
  return (await response.json()) as Answer
}

export const givenService = (
  url: string,
  attackerKey: string | undefined,
  victimKey: string | undefined,
  seconds: number
): Field => {
  if (attackerKey === undefined || victimKey === undefined) throw new Error("--url needs --key and --second-key")
  const { hostname, port } = new URL(url)
  const target = { host: hostname, port: Number(port || 80) }
  return { target, view: viewOf(target, undefined), attackerKey, victimKey, own: undefined, seconds }
}
