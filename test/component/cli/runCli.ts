/** Runs the command line in this process against a wire server, and collects what it prints. */
import { layer as nodeServices } from "@effect/platform-node/NodeServices"
import { cli, version } from "@muniment/cli/Cli"
import { LocalServer } from "@muniment/cli/LocalServer"
import { LocalModelPorts } from "@muniment/cli/modelTrial/TrialReport"
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import { Console, Context, Effect, Exit, Layer, Stdio, Terminal } from "effect"
import { Command } from "effect/cli"
import { RecordedConsole } from "../../support/RecordedConsole.ts"
import { startWireServer, type WireAnswer, type WireRequest } from "../client/WireServer.ts"

export interface CliRun {
  readonly isSuccess: boolean
  readonly out: string
  readonly err: string
  readonly requests: ReadonlyArray<WireRequest>
}

export const operatorToken = "operator-token"

export interface Typist {
  /** Whether standard input is a terminal; what is typed there, or undefined for Ctrl-C. */
  readonly isAtTerminal: boolean
  readonly types?: string
}

/** `args` may need to know where the server is. */
export const runCli = async (
  args: ReadonlyArray<string> | ((url: string) => ReadonlyArray<string>),
  answer: (request: WireRequest, index: number) => WireAnswer | undefined,
  typist: Typist = { isAtTerminal: false },
  /** Where it looks for language models. */
  modelPorts: ReadonlyArray<number> = []
): Promise<CliRun> => {
  await using server = await startWireServer(answer)
  const recorded = new RecordedConsole()
  const exit = await Effect.runPromiseExit(
    Command.runWith(cli, { version })(typeof args === "function" ? args(server.url) : args).pipe(
      Effect.provide(
        terminalOf(typist).pipe(
          Layer.provideMerge(nodeServices),
          Layer.merge(LocalServer.layerOf({ url: server.url, token: operatorToken }))
        )
      ),
      Effect.provideService(Console.Console, recorded.console),
      Effect.provideService(LocalModelPorts, modelPorts)
    )
  )
  return { isSuccess: Exit.isSuccess(exit), out: recorded.out, err: recorded.err, requests: server.requests }
}

const terminalOf = ({ isAtTerminal, types }: Typist) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const stdio = yield* Stdio.Stdio
      const terminal = yield* Terminal.Terminal
      const readLine = types === undefined ? Effect.fail(new Terminal.QuitError({})) : Effect.succeed(types)
      return Context.make(Stdio.Stdio, { ...stdio, stdinIsTerminal: Effect.succeed(isAtTerminal) }).pipe(
        Context.add(Terminal.Terminal, { ...terminal, readLine })
      )
    })
  )

export const ok = (body: object): WireAnswer => ({ status: 200, body: { success: true, ...body } })

export const refused = (status: number, code: string, error: string): WireAnswer => ({
  status,
  body: { success: false, error, code }
})

/** State of a service in good health. */
export const healthy: ServiceStatus & { readonly success: true } = {
  success: true,
  ready: true,
  version: "0.1.0",
  node: "v24.21.0",
  dataDirectory: "data",
  embedding: { model: "m", ready: true, detail: "loaded", pending: 0 },
  extraction: { reader: "rules", problem: null, pending: 0, oldestSeconds: 0 },
  index: { engine: "auto", isAvailable: true, detail: "exact scans and quantised lists" },
  namespaces: { total: 2, open: 1 },
  quarantined: [],
  payments: { oldestOpenSeconds: 0, networks: [] },
  webhooks: { isConfigured: false, pending: 0, oldestSeconds: 0, failed: 0 },
  hooks: { active: 0, paused: 0, pending: 0, oldestSeconds: 0, failed: 0 },
  clockStep: null,
  backup: { ageSeconds: 3_600 },
  commitLog: null,
  control: { behind: 0, checkedSeconds: 7_200 },
  scrub: { ageSeconds: 86_400, isRunning: false, files: 3, damaged: [] },
  rounds: [{ name: "housekeeping", open: 1, running: 0, failures: 0, isFailing: false, lastFailure: null }],
  disk: { freeBytes: 2 ** 40, ballastBytes: 2 ** 23 },
  warnings: []
}
