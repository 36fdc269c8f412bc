/**
 * The command line as an operator runs it, as a process of its own or, where no process is under test, in this one:
 * most of the time of a command is loading it.
 */
import { layer as nodeServices } from "@effect/platform-node/NodeServices"
import { cli, version } from "@muniment/cli/Cli"
import { LocalServer } from "@muniment/cli/LocalServer"
import { LocalModelPorts } from "@muniment/cli/modelTrial/TrialReport"
import { Cause, ConfigProvider, Console, Effect, Exit, Layer } from "effect"
import { Command } from "effect/cli"
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { RecordedConsole } from "./RecordedConsole.ts"
import { entry, repository } from "./TestServer.ts"

export interface CliEnd {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface CliProcess {
  readonly process: ChildProcess
  readonly ended: Promise<CliEnd>
}

export const startMuniment = (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {}
): CliProcess => {
  const child = spawn(process.execPath, [entry, ...args], {
    cwd: repository,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let out = ""
  let err = ""
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString()
  })
  child.stderr.on("data", (chunk: Buffer) => {
    err += chunk.toString()
  })
  return { process: child, ended: once(child, "close").then(([code]) => ({ code, out, err })) }
}

/** Where a command that names no service looks for one. */
const own = { MUNIMENT_DATA_DIR: process.env["MUNIMENT_DATA_DIR"] ?? "" }

/** In this process. The text of a failure is the end of `err`. */
export const runMuniment = async (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {},
  /** Where it looks for language models on this machine. */
  modelPorts: ReadonlyArray<number> = []
): Promise<CliEnd> => {
  const recorded = new RecordedConsole()
  const exit = await Effect.runPromiseExit(
    Command.runWith(cli, { version })(args).pipe(
      Effect.provide(Layer.merge(nodeServices, LocalServer.layer)),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown({ ...own, ...environment })),
      Effect.provideService(Console.Console, recorded.console),
      Effect.provideService(LocalModelPorts, modelPorts)
    )
  )
  if (Exit.isFailure(exit)) {
    const failure = Cause.squash(exit.cause)
    recorded.console.error(failure instanceof Error ? failure.message : String(failure))
  }
  return { code: Exit.isSuccess(exit) ? 0 : 1, out: recorded.out, err: recorded.err }
}
