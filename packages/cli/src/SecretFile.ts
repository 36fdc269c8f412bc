/**
 * Files that hold a secret: keys of wallets, what seals backups. One that others can read works, with a warning on
 * standard error: refusing it would only teach people to copy keys about.
 */
import { Console, Effect, FileSystem } from "effect"

const othersMask = 0o077

export const warnIfOthersRead = Effect.fnUntraced(function* (path: string) {
  const { mode } = yield* (yield* FileSystem.FileSystem).stat(path)
  if ((mode & othersMask) === 0) return
  yield* Console.error(`! ${path} can be read by others (mode ${(mode & 0o777).toString(8)}); run: chmod 600 ${path}`)
})
