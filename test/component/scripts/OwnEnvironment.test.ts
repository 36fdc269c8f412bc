/** Tests read nothing of the user who runs them, and may run beside that user's service. */
import { once } from "node:events"
import { createServer } from "node:net"
import { homedir, tmpdir } from "node:os"
import { dirname } from "node:path"
import { expect, it } from "vitest"
import { clearSettings, defaultPort } from "../../support/OwnEnvironment.ts"

it("a run has no setting of its user, and a home and a data directory of its own", () => {
  const left = Object.keys(process.env).filter((name) => /^(MUNIMENT_|AWS_|PG|OTEL_|XDG_CONFIG)/.test(name))
  const own = /^MUNIMENT_(TEST_.*|LONG_TESTS|MODELS_DIR|OTHER_BUILD|PYTHON|SCREENSHOTS|DATA_DIR)$/
  expect(left.filter((name) => !own.test(name))).toEqual([])
  expect(dirname(homedir())).toBe(tmpdir())
  expect(dirname(process.env["MUNIMENT_DATA_DIR"]!)).toBe(tmpdir())
})

it("the default port is taken for as long as tests run", async () => {
  const server = createServer()
  const listening = once(server, "listening").then(() => server.close())
  server.listen({ host: "127.0.0.1", port: defaultPort })
  const [cause] = await Promise.race([once(server, "error"), listening.then(() => [undefined])])
  expect(cause).toMatchObject({ code: "EADDRINUSE" })
})

it("settings go, what tests need stays, and caches are found by the user's home", () => {
  const environment: NodeJS.ProcessEnv = {
    PATH: "/bin",
    MUNIMENT_PORT: "1",
    MUNIMENT_URL: "http://elsewhere",
    MUNIMENT_API_KEY: "mun_user",
    MUNIMENT_PROFILE: "work",
    MUNIMENT_REMEMBER: "facts",
    MUNIMENT_MODELS_DIR: "/models",
    MUNIMENT_TEST_SEED: "7",
    AWS_ACCESS_KEY_ID: "user",
    PGHOST: "elsewhere",
    XDG_CONFIG_HOME: "/home/user/.config",
    npm_config_cache: "/cache"
  }
  clearSettings(environment, "/home/user")
  expect(environment).toEqual({
    PATH: "/bin",
    MUNIMENT_MODELS_DIR: "/models",
    MUNIMENT_TEST_SEED: "7",
    npm_config_cache: "/cache",
    XDG_CACHE_HOME: "/home/user/.cache",
    PYENV_ROOT: "/home/user/.pyenv"
  })
})
