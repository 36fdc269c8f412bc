/** Which addresses and secrets of a webhook are taken, and how long the waits between attempts are. */
import { Limits } from "@muniment/domain/Limits"
import { retryDelayMillis } from "@muniment/server/webhooks/WebhookSender"
import { isWebhookUrl, webhookSecrets } from "@muniment/server/webhooks/WebhookSettings"
import { Redacted } from "effect"
import { describe, expect, it } from "vitest"

describe("the address of a webhook", () => {
  it.each(["https://hooks.example.com/x?y=z", "http://127.0.0.1:9/x", "http://localhost/x", "http://[::1]:80/"])(
    "may be %s",
    (url) => expect(isWebhookUrl(url)).toBe(true)
  )
  it.each([
    "http://hooks.example.com/x",
    "http://127.evil.example/x",
    "http://127.0.0.1.nip.example/x",
    "http://10.0.0.1/x",
    "https://user:word@hooks.example.com/x",
    "https://hooks.example.com/x#y",
    "ftp://127.0.0.1/x",
    "hooks.example.com",
    ""
  ])("may not be %s", (url) => expect(isWebhookUrl(url)).toBe(false))
})

describe("the secret of a webhook", () => {
  const of = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString("base64")}`
  it("has 24 to 64 bytes; two sign while one replaces the other", () => {
    const [first, second] = webhookSecrets(`${of(24)}, ${of(64)}`) ?? []
    expect([first, second].map((secret) => secret && Redacted.value(secret).length)).toEqual([24, 64])
    expect(String(first)).not.toContain("7")
  })
  it.each([
    of(23),
    of(65),
    of(32).replace("whsec_", ""),
    `${of(32)}!`,
    `${of(32)},`,
    [1, 2, 3].map(() => of(32)).join()
  ])("may not be %s", (text) => expect(webhookSecrets(text)).toBeUndefined())
})

it("the waits double up to a bound, less up to a half by chance", () => {
  const { webhookRetryMillisMax: most, webhookRetryMillisMin: least } = Limits
  expect([0, 1, 2, 30].map((attempts) => retryDelayMillis(attempts, 0))).toEqual([least, 2 * least, 4 * least, most])
  expect(retryDelayMillis(1, 1)).toBe(least)
})
