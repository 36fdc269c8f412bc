/**
 * What tests find around them is theirs: no setting, home, profile, data directory or port of the user, whose service may
 * run meanwhile. The configuration of vitest clears the environment for all processes of a run; the global set-up gives it
 * a home and a data directory that are empty, and holds the default port, so that no test can open or ask it.
 */
import { mkdirSync } from "node:fs"
import { createServer } from "node:net"
import { homedir } from "node:os"
import { join } from "node:path"

/** Of the tests themselves: how they run, and where what was downloaded lies. */
const kept = /^MUNIMENT_(TEST_.*|LONG_TESTS|MODELS_DIR|OTHER_BUILD|PYTHON|SCREENSHOTS)$/
/** What the service, its bucket, its database and its traces read. */
const settings = /^(MUNIMENT_|AWS_|PG|OTEL_)|^XDG_(CONFIG|DATA|STATE)_HOME$/

/** Of `config.port` in `packages/server/src/Config.ts`. */
export const defaultPort = 8787

/** Removes the user's settings from `environment`, and leads programs to the caches that they know of by the home. */
export const clearSettings = (environment: NodeJS.ProcessEnv, home = homedir()): void => {
  for (const name of Object.keys(environment))
    if (settings.test(name) && !kept.test(name)) Reflect.deleteProperty(environment, name)
  environment["XDG_CACHE_HOME"] ??= join(home, ".cache")
  environment["npm_config_cache"] ??= join(home, ".npm")
  environment["PYENV_ROOT"] ??= join(home, ".pyenv")
}

/** A home and a data directory in `directory`, which is the run's own. */
export const moveIn = (environment: NodeJS.ProcessEnv, directory: string): void => {
  const home = join(directory, "home")
  mkdirSync(home, { mode: 0o700 })
  environment["HOME"] = home
  environment["USERPROFILE"] = home
  // Nobody makes it: a command that does not name its own finds no service there.
  environment["MUNIMENT_DATA_DIR"] = join(directory, "no-service")
}

const againMillis = 200

/**
 * Listens at the default port until the end that it returns, as soon as no service of the user and no other run does. A
 * connection gets no answer: a test fails by that; programs of the user, which may ask too, are no matter of the run.
 */
export const holdDefaultPort = async (): Promise<() => void> => {
  const holder = createServer((socket) => socket.destroy())
  let again: NodeJS.Timeout | undefined
  await new Promise<void>((looked) => {
    const listen = () => void holder.listen({ host: "127.0.0.1", port: defaultPort })
    holder.on("listening", looked)
    holder.on("error", () => {
      again = setTimeout(listen, againMillis).unref()
      looked()
    })
    listen()
  })
  holder.unref()
  return () => {
    clearTimeout(again)
    if (holder.listening) holder.close()
  }
}
