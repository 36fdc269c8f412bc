/**
 * Entry point of the command line. Exit codes: 0 done, 1 failed, 130 interrupted; `serve` ends with
 * 0 when it is told to stop, because that is how a service ends well.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as Command from "effect/cli/Command"
import { cli, version } from "./Cli.ts"
import { LocalServer } from "./LocalServer.ts"

const isService = process.argv[2] === "serve"

const teardown: Runtime.Teardown = (exit, onExit) =>
  isService && Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
    ? onExit(0)
    : Runtime.defaultTeardown(exit, onExit)

Command.run(cli, { version }).pipe(
  Effect.provide(Layer.merge(NodeServices.layer, LocalServer.layer)),
  NodeRuntime.runMain({ teardown })
)
