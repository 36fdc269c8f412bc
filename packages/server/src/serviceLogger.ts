/** Lines for people on a terminal, JSON elsewhere. */
import { Logger } from "effect"

export const serviceLogger = Logger.layer([process.stdout.isTTY ? Logger.consolePretty() : Logger.consoleJson])
