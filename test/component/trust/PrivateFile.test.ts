/** Files of the data directory: private whatever the umask, and whole after a power cut. */
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import {
  createPrivateFile,
  makePrivateDirectory,
  mendPermissions,
  replacePrivateFile
} from "@muniment/trust/PrivateFile"
import { afterEach, beforeEach, describe, expect, it } from "vitest"

const modeOf = (path: string): string => (fs.statSync(path).mode & 0o777).toString(8)
const umask = process.umask()
let directory: string

beforeEach(() => {
  process.umask(0)
  directory = fs.mkdtempSync(join(tmpdir(), "muniment-private-"))
})
afterEach(() => {
  process.umask(umask)
  fs.rmSync(directory, { recursive: true, force: true })
})

/** The calls that matter for a power cut, in order, while `act` runs. */
const traced = (act: () => void): ReadonlyArray<string> => {
  const calls: Array<string> = []
  const { fsyncSync, openSync, renameSync, linkSync } = fs
  const names = new Map<number, string>()
  fs.openSync = (...given: Parameters<typeof openSync>) => {
    const descriptor = openSync(...given)
    names.set(descriptor, basename(String(given[0])))
    return descriptor
  }
  fs.fsyncSync = (descriptor) => {
    calls.push(`sync ${names.get(descriptor)}`)
    fsyncSync(descriptor)
  }
  fs.renameSync = (from, to) => {
    calls.push(`rename ${basename(String(from))} ${basename(String(to))}`)
    renameSync(from, to)
  }
  fs.linkSync = (from, to) => {
    calls.push(`link ${basename(String(from))} ${basename(String(to))}`)
    linkSync(from, to)
  }
  syncBuiltinESMExports()
  try {
    act()
  } finally {
    Object.assign(fs, { fsyncSync, openSync, renameSync, linkSync })
    syncBuiltinESMExports()
  }
  return calls
}

describe("a private file", () => {
  it("is synced before it gets its name, and its folder after", () => {
    const path = join(directory, "token")
    const folder = basename(directory)
    expect(traced(() => replacePrivateFile(path, "a"))).toEqual([
      "sync token.new",
      "rename token.new token",
      `sync ${folder}`
    ])
    const other = join(directory, "keys")
    expect(traced(() => createPrivateFile(other, "b"))).toEqual([
      "sync keys.new",
      "link keys.new keys",
      `sync ${folder}`
    ])
    expect(fs.readdirSync(directory).toSorted()).toEqual(["keys", "token"])
  })

  it("is readable by its owner alone, also where a crash left a file aside with another mode", () => {
    const path = join(directory, "token")
    fs.writeFileSync(`${path}.new`, "half", { mode: 0o666 })
    replacePrivateFile(path, "first")
    expect(modeOf(path)).toBe("600")
    replacePrivateFile(path, "second")
    expect([fs.readFileSync(path, "utf8"), modeOf(path)]).toEqual(["second", "600"])
  })

  it("is created once: what is there stays", () => {
    const path = join(directory, "keys")
    createPrivateFile(path, "first")
    createPrivateFile(path, "second")
    expect([fs.readFileSync(path, "utf8"), modeOf(path)]).toEqual(["first", "600"])
  })
})

describe("a private folder", () => {
  it("is made with the missing ones above it, each entered in the one above for good", () => {
    const path = join(directory, "a", "b")
    expect(traced(() => makePrivateDirectory(path))).toEqual([`sync ${basename(directory)}`, "sync a"])
    expect([modeOf(path), modeOf(join(directory, "a"))]).toEqual(["700", "700"])
    expect(() => makePrivateDirectory(path)).not.toThrow()
  })

  it("cannot be made below a file, nor where the system makes none, and says so at once", () => {
    const file = join(directory, "file")
    fs.writeFileSync(file, "")
    for (const path of [file, join(file, "below"), "/proc/muniment/data"]) {
      expect(() => makePrivateDirectory(path)).toThrow(/^E[A-Z]+: /)
    }
  })
})

it("a folder that others can read is mended with all that is in it, once; links and what lies behind them stay as they are", () => {
  const outside = fs.mkdtempSync(join(tmpdir(), "muniment-outside-"))
  fs.writeFileSync(join(outside, "file"), "", { mode: 0o644 })
  fs.chmodSync(directory, 0o755)
  fs.mkdirSync(join(directory, "namespaces"), { mode: 0o755 })
  for (const name of ["control.db", "namespaces/a.db"]) fs.writeFileSync(join(directory, name), "", { mode: 0o644 })
  fs.symlinkSync(outside, join(directory, "link"))
  expect(mendPermissions(directory)).toBe(4)
  expect(["", "namespaces"].map((name) => modeOf(join(directory, name)))).toEqual(["700", "700"])
  expect(["control.db", "namespaces/a.db"].map((name) => modeOf(join(directory, name)))).toEqual(["600", "600"])
  expect(modeOf(join(outside, "file"))).toBe("644")
  expect(mendPermissions(directory)).toBe(0)
  fs.rmSync(outside, { recursive: true })
})
