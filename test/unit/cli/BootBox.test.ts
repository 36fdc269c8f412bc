/** The box at the start: the key once, aligned, the call to try complete. */
import { bootBox } from "@muniment/cli/commands/serve"
import { expect, it } from "vitest"

const report = {
  url: "http://127.0.0.1:8787",
  dataDirectory: "./data",
  docsUrl: "http://127.0.0.1:8787/docs",
  consoleUrl: "http://127.0.0.1:8787/console#link=abc",
  warnings: [],
  monthlyAllowance: null,
  bootMillis: 512
}

it("frames URL, data directory, key and documentation in lines of one width", () => {
  const lines = bootBox({ ...report, operatorKey: "mun_secret" }).split("\n")
  const box = lines.filter((line) => /^[╭│╰]/.test(line))
  expect(box).toHaveLength(6)
  expect(new Set(box.map((line) => line.length)).size).toBe(1)
  expect(box.join("\n")).toContain("mun_secret  (shown once)")
})

it("gives a call to try that holds the key", () => {
  expect(bootBox({ ...report, operatorKey: "mun_secret" })).toContain('-H "authorization: Bearer mun_secret"')
})

it("says how to make a key when there is none to show", () => {
  const text = bootBox(report)
  expect(text).not.toContain("shown once")
  expect(text).toContain("keys create")
  expect(text).toContain("$MUNIMENT_API_KEY")
})

it("repeats the service's warnings", () => {
  expect(bootBox({ ...report, warnings: ["no model: search finds words only"] })).toContain("! no model")
})

it("gives the link that signs in to the console, unless the console is off", () => {
  expect(bootBox(report)).toContain("http://127.0.0.1:8787/console#link=abc")
  expect(bootBox({ ...report, consoleUrl: undefined })).not.toContain("Console")
})

it("names the file of a key that is not shown, and the command for a link", () => {
  const text = bootBox({ ...report, operatorKeyFile: "/data/first-key", consoleUrl: undefined, isLinkAsked: true })
  expect(text).toContain("Key   in /data/first-key")
  expect(text).toContain("Bearer $(cat '/data/first-key')")
  expect(text).toContain("npm run muniment -- console")
})

it("says whether calls are charged, and how long free plans keep memories", () => {
  expect(bootBox(report)).toMatch(/recorded and not charged[^\n]*7 days/)
  expect(bootBox({ ...report, monthlyAllowance: 20 })).toMatch(/20 a month[^\n]*7 days/)
})
