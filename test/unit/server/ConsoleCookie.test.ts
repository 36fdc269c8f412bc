/** The cookie of a console's session: its name by the port that the browser came by, and which values are taken. */
import { expect, it } from "vitest"
import { cookieText, sessionSecretOf } from "@muniment/server/console/ConsoleSessions"

const kept = (host: string, secret: string) => cookieText("session", { host }, secret, 60, false).split(";")[0]!

it("is of one service alone where several share a host, whose cookies a browser sends to all of them", () => {
  const cookie = [kept("localhost:8787", "one"), kept("localhost:9000", "two"), kept("localhost", "three")].join("; ")
  const hosts = ["localhost:8787", "localhost:9000", "localhost", "localhost:9001", "[::1]:9000", "[::1]"]
  expect(hosts.map((host) => sessionSecretOf({ host, cookie }))).toEqual([
    "one",
    "two",
    "three",
    undefined,
    "two",
    "three"
  ])
})

it.each([
  ["muniment_session_8787=a-b_1", "a-b_1"],
  [" other=x;muniment_session_8787=a", "a"],
  ["muniment_session_8787=", undefined],
  ["muniment_session_8787", undefined],
  ["muniment_session_8787=%ff", undefined],
  ["xmuniment_session_8787=a", undefined],
  [`muniment_session_8787=${"a".repeat(2_049)}`, undefined],
  [undefined, undefined]
])("takes of %j %j", (cookie, secret) => {
  expect(sessionSecretOf({ host: "localhost:8787", cookie })).toBe(secret)
})

it("is sent by TLS alone where the service is reached so", () => {
  const attributes = "Path=/; HttpOnly; SameSite=Strict; Max-Age=60"
  expect(cookieText("session", { host: "memory.example" }, "a", 60, true)).toBe(
    `muniment_session=a; ${attributes}; Secure`
  )
})
