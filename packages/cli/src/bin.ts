/**
 * Entry point of the command line. Exit codes: 0 done, 1 failed, 130 interrupted; `serve` ends with
 * 0 on SIGTERM, because a supervisor takes any other code for a crash.
 */
import { runMain } from "@effect/platform-node/NodeRuntime"
import { layer as nodeServices } from "@effect/platform-node/NodeServices"
import { Cause, Effect, Exit, Layer, Runtime } from "effect"
import { Command } from "effect/cli"
import manifest from "../package.json" with { type: "json" }
import { serve } from "./commands/serve.ts"
import { LocalServer } from "./LocalServer.ts"

const { version } = manifest
const isService = process.argv[2] === "serve"

const teardown: Runtime.Teardown = (exit, onExit) =>
  isService && Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
    ? onExit(0)
    : Runtime.defaultTeardown(exit, onExit)

/** The service starts without the modules of the other commands, and never holds them. */
const run = isService
  ? Command.run(Command.make("muniment").pipe(Command.withSubcommands([serve])), { version })
  : Command.run((await import("./Cli.ts")).cli, { version })

run.pipe(Effect.provide(Layer.merge(nodeServices, LocalServer.layer)), runMain({ teardown }))
