/** The simulated disk loses what a real one may lose. */
import { beforeEach, describe, expect, it } from "vitest"
import {
  closeSync,
  cut,
  failAfter,
  fdatasyncSync,
  forgetDisk,
  mendDisk,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync
} from "./LogDisk.ts"

const sector = 512
const never = () => false
const always = () => true

let life = 0
const directory = () => `/life-${life}`
/** The disk of the next life. */
const crash = (keeps: (() => boolean) | undefined): void => {
  const before = directory()
  life++
  cut(before, directory(), keeps)
  forgetDisk(before)
}

const written = (name: string, flags: string, texts: ReadonlyArray<string>): number => {
  const file = openSync(`${directory()}/${name}`, flags)
  for (const [at, text] of texts.entries())
    if (text !== "") writeSync(file, Buffer.alloc(sector, text), 0, sector, at * sector)
  return file
}
const sync = (path: string): void => {
  const file = openSync(path, "r")
  fdatasyncSync(file)
  closeSync(file)
}
/** The first letter of each sector. */
const read = (name: string): string => {
  const bytes = readFileSync(`${directory()}/${name}`)
  return Array.from({ length: bytes.length / sector }, (_, at) => String.fromCharCode(bytes[at * sector]!)).join("")
}

beforeEach(() => {
  life++
  mkdirSync(directory())
  fdatasyncSync(written("a", "wx", ["a", "a"]))
  sync(directory())
})

describe("a power cut", () => {
  it("leaves what was synced, and of the rest what the seed says", () => {
    written("a", "r+", ["b", "b", "b"])
    const chances = [true, false, true]
    crash(() => chances.shift()!)
    expect(read("a")).toBe("bab")
  })

  it("takes names that their directory's sync did not reach, and brings back any that were deleted", () => {
    sync(directory())
    fdatasyncSync(written("b", "wx", ["b"]))
    sync(directory())
    rmSync(`${directory()}/a`)
    rmSync(`${directory()}/b`)
    fdatasyncSync(written("c", "wx", ["c"]))
    renameSync(`${directory()}/c`, `${directory()}/d`)
    const chances = [false, true, true, false]
    crash(() => chances.shift()!)
    expect(readdirSync(directory())).toEqual(["a", "c"])
  })
})

describe("a kill", () => {
  it("makes nothing durable: the next process reads it, and a power cut takes it", () => {
    written("a", "r+", ["b"])
    written("b", "wx", ["b"])
    crash(undefined)
    expect([read("a"), read("b")]).toEqual(["ba", "b"])
    crash(never)
    expect(readdirSync(directory())).toEqual(["a"])
    expect(read("a")).toBe("aa")
  })

  it("takes nothing that the next process syncs", () => {
    written("a", "r+", ["b"])
    crash(undefined)
    sync(`${directory()}/a`)
    crash(never)
    expect(read("a")).toBe("ba")
  })
})

describe("a sync that fails", () => {
  const failing = (): number => {
    const file = written("a", "r+", ["b", "b"])
    const chances = [true, false]
    failAfter(directory(), 0, () => chances.shift()!)
    expect(() => fdatasyncSync(file)).toThrow("EIO")
    mendDisk(directory())
    fdatasyncSync(file)
    return file
  }

  it("loses what no later sync writes, and a process reads as before", () => {
    failing()
    expect(read("a")).toBe("bb")
    crash(always)
    expect(read("a")).toBe("ba")
  })

  it("loses nothing that is written again", () => {
    const file = failing()
    writeSync(file, Buffer.alloc(sector, "b"), 0, sector, sector)
    fdatasyncSync(file)
    crash(never)
    expect(read("a")).toBe("bb")
  })
})
