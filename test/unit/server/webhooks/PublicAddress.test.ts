/** Which addresses the webhooks of accounts may reach: none that leads into the network of the service. */
import { describe, expect, it } from "vitest"
import { isPublicAddress, namesPublicHost, publicLookup } from "@muniment/server/webhooks/WebhookSettings"

describe("a public address", () => {
  it.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::127.0.0.1",
    "fe80::1",
    "fe80::1%eth0",
    "fd00:ec2::254",
    "fc00::1",
    "ff02::1",
    "2001:db8::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "64:ff9b::7f00:1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::8.8.8.8",
    "not an address",
    "127.1"
  ])("is not %s", (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  it.each(["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::8.8.8.8", "2002:808:808::1"])(
    "is %s",
    (address) => {
      expect(isPublicAddress(address)).toBe(true)
    }
  )
})

it("names of this machine, of its network, and addresses of them are told without a look-up", () => {
  const refused = ["localhost", "x.localhost", "printer", "metadata.google.internal", "nas.local", "[::1]", "127.0.0.1"]
  expect(refused.filter(namesPublicHost)).toEqual([])
  expect(["hooks.example.com", "8.8.8.8", "[2606:4700::1111]"].filter((host) => !namesPublicHost(host))).toEqual([])
})

it("a name is refused at the connection by what it resolves to", async () => {
  for (const all of [true, false]) {
    const error = await new Promise((resolve) => {
      publicLookup("localhost", { all }, (failure) => resolve(failure))
    })
    expect(error).toMatchObject({ code: "ADDRESS_NOT_PUBLIC" })
  }
})
