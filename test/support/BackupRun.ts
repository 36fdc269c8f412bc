/** Steps that tests of backups share: agents that hold something, backups of them, services of what was restored. */
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "vitest"
import { type CliEnd, runMuniment } from "./CliProcess.ts"
import { withoutModel } from "./SharedServer.ts"
import { patienceMillis, startServer, type ServerCalls, type TestServer } from "./TestServer.ts"

export const scratch = (name: string): string => mkdtempSync(join(tmpdir(), `muniment-${name}-`))

export const environmentOf = ({ dataDirectory }: Pick<TestServer, "dataDirectory">) => ({
  ...withoutModel,
  MUNIMENT_DATA_DIR: dataDirectory
})

/** A command that succeeds. */
export const done = async (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {}
): Promise<CliEnd> => {
  const end = await runMuniment(args, environment)
  expect(end.code, `${args.join(" ")}\n${end.out}\n${end.err}`).toBe(0)
  return end
}

/** A command that fails with a text. */
export const refused = async (
  args: ReadonlyArray<string>,
  text: string | RegExp,
  environment: Readonly<Record<string, string>> = {}
): Promise<void> => {
  const end = await runMuniment(args, environment)
  expect(end.code, end.out).toBe(1)
  expect(end.err + end.out).toMatch(text)
}

/** The service of a restored directory; it removes nothing at its end. */
export const restored = async (
  from: string,
  options: ReadonlyArray<string> = [],
  environment: Readonly<Record<string, string>> = {}
): Promise<TestServer> => {
  const dataDirectory = join(scratch("restored"), "data")
  await done(["restore", "--from", from, "--to", dataDirectory, ...options], environment)
  return startServer({ dataDirectory, environment: withoutModel })
}

export const fill = async (server: ServerCalls, agentId: string, words: ReadonlyArray<string>) => {
  const memories = words.map((word) => ({ kind: "factual_memory", data: { subject: word, fact: `It is ${word}` } }))
  const { body, status } = await server.call("POST", "/v1/memories", { body: { agentId, memories } })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.created.map(({ id }: { readonly id: string }) => id) as ReadonlyArray<string>
}

/** Waits until no file has changed for a while: then a second backup need not look into them. */
export const untilSettled = async (server: TestServer): Promise<void> => {
  const deadline = Date.now() + patienceMillis
  for (;;) {
    const { body } = await server.asOperator("GET", "/admin/backups/files")
    if (body.files.every(({ mark }: { readonly mark: string | null }) => mark !== null)) return
    if (Date.now() > deadline) throw new Error("files go on changing")
    await new Promise((wake) => setTimeout(wake, 100))
  }
}
