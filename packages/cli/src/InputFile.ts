/**
 * Input of a command: a file, standard input (`-`), or the body behind a URL; at most `Limits.requestBodyBytesMax`, so
 * that a wrong name does not fill the memory.
 */
import { Effect, FileSystem, Stdio, Stream, Console } from "effect"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"
import { Argument, Flag } from "effect/cli"
import { Limits } from "@muniment/domain/Limits"
import { commandFailed, CommandFailed } from "./CommandFailed.ts"

const fetchTimeoutMillis = 10_000

/** The bytes of a file, or of standard input when `source` is `-`. */
export const readInput = Effect.fnUntraced(function* (source: string) {
  if (source === "-") return yield* collected((yield* Stdio.Stdio).stdin, "standard input")
  return yield* collected((yield* FileSystem.FileSystem).stream(source), source)
}, Effect.mapError(commandFailed))

/** The body behind `url`, when it answers with status 200. */
export const readUrl = (url: string) =>
  HttpClient.get(url).pipe(
    Effect.flatMap(HttpClientResponse.filterStatus((status) => status === 200)),
    Effect.flatMap((response) => collected(response.stream, url)),
    Effect.timeoutOrElse({
      duration: fetchTimeoutMillis,
      orElse: () => Effect.fail(new CommandFailed({ reason: `${url} gave no answer in time` }))
    }),
    Effect.mapError(commandFailed),
    Effect.provide(FetchHttpClient.layer)
  )

/** Refuses bytes that are not UTF-8 instead of replacing them: they will be hashed. */
export const textOf = (bytes: Uint8Array, source: string): Effect.Effect<string, CommandFailed> =>
  Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => new CommandFailed({ reason: `${source} is not UTF-8 text` })
  })

const collected = Effect.fnUntraced(function* <E>(bytes: Stream.Stream<Uint8Array, E>, source: string) {
  const chunks: Array<Uint8Array> = []
  let size = 0
  yield* Stream.runForEach(bytes, (chunk) => {
    size += chunk.byteLength
    if (size > Limits.requestBodyBytesMax) {
      return Effect.fail(new CommandFailed({ reason: `${source} has more than ${Limits.requestBodyBytesMax} bytes` }))
    }
    chunks.push(chunk)
    return Effect.void
  })
  return new Uint8Array(Buffer.concat(chunks))
})

const othersMask = 0o077

/**
 * Files that hold a secret: keys of wallets, what seals backups. One that others can read works, with a warning on
 * standard error: refusing it would only teach people to copy keys about.
 */
export const warnIfOthersRead = Effect.fnUntraced(function* (path: string) {
  const { mode } = yield* (yield* FileSystem.FileSystem).stat(path)
  if ((mode & othersMask) === 0) return
  yield* Console.error(`! ${path} can be read by others (mode ${(mode & 0o777).toString(8)}); run: chmod 600 ${path}`)
})

const isNamed = (path: string): boolean => path !== ""
const expected = (): string => "a name that is not empty"

/** Flags and arguments that name a file or a folder: an empty name, as an unset variable of a shell leaves it, is refused. */
export const pathFlag = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.filter(isNamed, expected))

export const pathArgument = (name: string, description: string) =>
  Argument.String(name).pipe(Argument.withDescription(description), Argument.filter(isNamed, expected))
