/**
 * An empty folder outside the repository with the packed client installed, as a user has it, and a program of a user
 * in it: TypeScript that uses the client's types, compiled there, which speaks to a service.
 */
import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { packClient } from "../../scripts/pack.ts"

const run = promisify(execFile)

/** What the program prints when all of it went well. */
export const programEnd = "stored, found, refused, signed, verified, interrupted"

const program = `
import { type Answer, type Body, type Memory, Muniment, MunimentError, type Query } from "@muniment/client"
import { verifyAttestation } from "@muniment/client/Attestation"
import type { ContextAnswers, SearchAnswers } from "@muniment/client/Contract"
import { canonicalJson } from "@muniment/client/CanonicalJson"
import { walletRequestText } from "@muniment/client/Wallet"

declare const process: { readonly env: Readonly<Record<string, string | undefined>> }
const must = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what)
}

const done: Array<string> = []
const baseUrl = process.env["SERVICE_URL"] ?? ""
const muniment = new Muniment({ baseUrl, apiKey: process.env["SERVICE_KEY"] ?? "" })
const stored: Answer<"create"> = await muniment.create({
  agentId: "assistant",
  memories: [{ kind: "factual_memory", data: { subject: "Alice", fact: "Alice lives in Seattle" } }]
})
must(stored.created.length === 1, "one memory is stored")
done.push("stored")

const { memories } = await muniment.search({ query: "Where does Alice live?", agentId: "assistant", limit: 5 })
must(memories[0]?.id === stored.created[0]?.id, "it is found")
const all: Array<Memory> = []
for await (const memory of muniment.listAll({ agentId: "assistant" })) all.push(memory)
must(all.length === 1, "it is listed")
done.push("found")

try {
  await muniment.get("mem_unknown")
} catch (error) {
  if (error instanceof MunimentError && error.code === "memory_not_found" && error.status === 404) done.push("refused")
}

const text = await walletRequestText({ method: "get", path: "/v1/account", body: undefined, timestampMillis: 1 })
must(text === "GET|/v1/account|e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855|1", text)
must(canonicalJson({ b: 1, a: ["é"] }) === '{"a":["é"],"b":1}', "canonical")
done.push("signed")

const signed = await muniment.attest({ claim: "memory_count_gte", threshold: 1 })
const keys = await muniment.publicKeys()
must((await verifyAttestation(signed, keys, Date.now() / 1_000)).valid, "the attestation verifies")
const altered = { ...signed, attestation: { ...signed.attestation, issuer: "another" } }
must(!(await verifyAttestation(altered, keys, Date.now() / 1_000)).valid, "an altered one does not")
done.push("verified")

const controller = new AbortController()
controller.abort(new Error("enough"))
try {
  await muniment.whoami({ signal: controller.signal })
} catch (error) {
  if (error instanceof Error && error.message === "enough") done.push("interrupted")
}
console.log(done.join(", "))

type Refuses<Given, Asked> = Given extends Asked ? false : true
export const needsKind: Refuses<{ agentId: string; memories: Array<{ data: {} }> }, Body<"create">> = true
export const needsQuery: Refuses<{ agentId: string }, Query<"search">> = true
export const decidesByMode: Refuses<"clusters", keyof SearchAnswers["answer"]> = true
export const decidesByFormat: Refuses<"sections", keyof ContextAnswers["text"]> = true
export const hasText: Refuses<undefined, ContextAnswers["text"]["text"]> = true
export const takesMillis: Refuses<number, Query<"search">["asOf"]> = false
export const takesMillisOfProfiles: Refuses<number, Query<"profile">["asOf"]> = false
export const hasNamedKinds: Refuses<"other", NonNullable<Answer<"create">["rejected"]>[number]["reason"]> = true
`

const settings = {
  compilerOptions: {
    target: "es2022",
    module: "nodenext",
    moduleResolution: "nodenext",
    lib: ["es2022", "dom"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    types: []
  },
  files: ["program.ts"]
}

export interface InstalledClient extends AsyncDisposable {
  readonly folder: string
  /** Rejects with what the compiler says; with the strictest settings, and as `--strict` alone has them. */
  readonly compile: (compiler: string) => Promise<void>
  /** What the compiled program prints under a runtime. */
  readonly runs: (
    runtime: string,
    args: ReadonlyArray<string>,
    service: { readonly url: string; readonly key: string }
  ) => Promise<string>
}

/** `packages` are installed beside it from a registry. */
export const installClient = async (packages: ReadonlyArray<string> = []): Promise<InstalledClient> => {
  const folder = await mkdtemp(join(tmpdir(), "muniment-client-"))
  const { path } = packClient(folder)
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }))
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(settings))
  await writeFile(join(folder, "program.ts"), program)
  const quiet = ["--no-audit", "--no-fund", ...(packages.length === 0 ? ["--offline"] : [])]
  await run("npm", ["install", path, ...packages, ...quiet], { cwd: folder })
  return {
    folder,
    compile: async (compiler) => {
      for (const more of [["--noEmit", "--exactOptionalPropertyTypes", "false"], []]) {
        await run(compiler, ["-p", "tsconfig.json", ...more], { cwd: folder }).catch(
          (error: Error & { stdout?: string }) => {
            throw new Error(`${compiler} ${more.join(" ")}: ${error.stdout ?? error.message}`, { cause: error })
          }
        )
      }
    },
    runs: async (runtime, args, { key, url }) => {
      const env = { PATH: process.env["PATH"], HOME: folder, SERVICE_URL: url, SERVICE_KEY: key }
      return (await run(runtime, [...args, "program.js"], { cwd: folder, env })).stdout.trim()
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true })
  }
}
