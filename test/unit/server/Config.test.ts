/** Settings that other code derives from. */
import { localOrigin } from "@muniment/server/Config"
import { expect, it } from "vitest"

it.each([
  ["127.0.0.1", "http://127.0.0.1:8787"],
  ["0.0.0.0", "http://127.0.0.1:8787"],
  ["::", "http://127.0.0.1:8787"],
  ["::1", "http://[::1]:8787"],
  ["memory.lan", "http://memory.lan:8787"]
])("a service that listens on %s is reached at %s", (host, origin) => {
  expect(localOrigin(host, 8787)).toBe(origin)
})
