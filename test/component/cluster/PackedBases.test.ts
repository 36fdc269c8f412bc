/** Namespaces at rest: the same cases on a folder and on a server that speaks the protocol of S3. */
import { createHash, randomBytes } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { ConfigProvider, Effect } from "effect"
import { describe, expect } from "vitest"
import type { BackupTarget } from "@muniment/backup/BackupStore"
import { openTarget } from "@muniment/backup/target/openTarget"
import { BaseStore, type BaseStoreShape, packedBases } from "@muniment/cluster/bases/BaseStore"
import { s3Environment, startS3Server } from "../../support/S3Server.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { effectOf, type Steps, it } from "../../support/it.ts"
import { beforeTests } from "../../support/beforeTests.ts"

const bucketDirectory = temporaryDirectory()
const store = beforeTests(
  () => startS3Server(bucketDirectory, "bases"),
  (started) => started.close()
)

const credentials = (): Record<string, string> => s3Environment(store.port)

const targetOf = (text: string, environment: Record<string, string> = {}) =>
  openTarget(text).pipe(Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(environment)))

/** More than two parts of 8 MiB; pages of a database and what no packer shortens. */
const largeFile = (): Buffer => Buffer.concat([Buffer.alloc(9_000_000, "page "), randomBytes(9_000_000)])

const conformance = (where: string, target: () => Effect.Effect<BackupTarget, unknown>): void => {
  const withBases = Effect.fnUntraced(function* (use: (bases: BaseStoreShape, target: BackupTarget) => Steps) {
    const below = yield* target()
    yield* Effect.provide(
      Effect.flatMap(BaseStore, (bases) => effectOf(use(bases, below))),
      packedBases(below)
    )
  })
  const basing = (name: string, use: Parameters<typeof withBases>[0]): void => it.live(name, () => withBases(use))
  const written = (bytes: Uint8Array): string => {
    const file = join(temporaryDirectory(), "copy.db")
    writeFileSync(file, bytes)
    return file
  }

  describe(`bases ${where}`, () => {
    for (const [size, bytes] of [
      ["nothing", Buffer.alloc(0)],
      ["a page", Buffer.alloc(4_096, 7)],
      ["exactly a part", Buffer.alloc(8_388_608, 1)],
      ["several parts", largeFile()]
    ] as const)
      basing(`come back as they were: ${size}`, function* (bases) {
        const name = `0000000000aa/1-${bytes.byteLength}`
        const put = yield* bases.put(name, written(bytes))
        const back = join(temporaryDirectory(), "back.db")
        expect(yield* bases.get(name, back)).toEqual(put)
        expect(put).toEqual({ bytes: bytes.byteLength, sha256: createHash("sha256").update(bytes).digest("hex") })
        expect(readFileSync(back).equals(bytes)).toBe(true)
        expect(existsSync(`${back}.new`)).toBe(false)
      })

    basing("are never replaced", function* (bases) {
      const name = "0000000000ab/1-5"
      yield* bases.put(name, written(Buffer.from("first")))
      expect((yield* Effect.flip(bases.put(name, written(Buffer.from("second")))))._tag).toBe("BaseExists")
      const back = join(temporaryDirectory(), "back.db")
      yield* bases.get(name, back)
      expect(readFileSync(back, "utf8")).toBe("first")
    })

    basing("are gone when they are removed, and others stay", function* (bases, below) {
      yield* bases.put("0000000000ac/1-5", written(Buffer.from("first")))
      yield* bases.put("0000000000ac/1-50", written(Buffer.from("second")))
      yield* bases.remove("0000000000ac/1-5")
      yield* bases.remove("0000000000ac/1-5")
      expect(yield* below.list("0000000000ac/1-5/")).toEqual([])
      const back = join(temporaryDirectory(), "back.db")
      expect((yield* Effect.flip(bases.get("0000000000ac/1-5", back)))._tag).toBe("BaseAbsent")
      expect(existsSync(back)).toBe(false)
      yield* bases.get("0000000000ac/1-50", back)
      expect(readFileSync(back, "utf8")).toBe("second")
    })

    basing(
      "of which a part was lost, cut or changed are refused, and the file stays as it was",
      function* (bases, below) {
        const other = written(Buffer.from("another"))
        yield* bases.put("0000000000ad/1-1", other)
        for (const [at, spoil] of [
          () => below.remove("0000000000ad/2-0/0"),
          () => below.put("0000000000ad/2-1/0", Buffer.from("not packed")),
          () => Effect.flatMap(below.get("0000000000ad/1-1/0"), (part) => below.put("0000000000ad/2-2/0", part!)),
          () => below.put("0000000000ad/2-3/list", Buffer.from("{"))
        ].entries()) {
          const name = `0000000000ad/2-${at}`
          yield* bases.put(name, written(Buffer.from("content")))
          yield* spoil()
          const back = written(Buffer.from("before"))
          const fault = yield* Effect.flip(bases.get(name, back))
          expect([name, fault._tag]).toEqual([name, "BaseDamaged"])
          expect(readFileSync(back, "utf8")).toBe("before")
          expect(existsSync(`${back}.new`)).toBe(false)
        }
      }
    )

    basing("that were cut short before their list are absent, and are put again", function* (bases, below) {
      const name = "0000000000ae/1-1"
      yield* bases.put(name, written(Buffer.from("first")))
      yield* below.remove(`${name}/list`)
      const back = join(temporaryDirectory(), "back.db")
      expect((yield* Effect.flip(bases.get(name, back)))._tag).toBe("BaseAbsent")
      yield* bases.put(name, written(Buffer.from("again")))
      yield* bases.get(name, back)
      expect(readFileSync(back, "utf8")).toBe("again")
    })

    basing("have no names that lead elsewhere, and missing files are told", function* (bases) {
      const file = written(Buffer.from("content"))
      for (const name of ["", "../up", "a/../b", "/etc", "a//b", "a b"]) {
        expect([name, (yield* Effect.flip(bases.put(name, file)))._tag]).toEqual([name, "BaseFault"])
        expect([name, (yield* Effect.flip(bases.get(name, file)))._tag]).toEqual([name, "BaseFault"])
        expect([name, (yield* Effect.flip(bases.remove(name)))._tag]).toEqual([name, "BaseFault"])
      }
      const missing = join(temporaryDirectory(), "none.db")
      expect((yield* Effect.flip(bases.put("0000000000af/1-1", missing)))._tag).toBe("BaseFault")
      expect((yield* Effect.flip(bases.get("0000000000af/1-1", missing)))._tag).toBe("BaseAbsent")
    })
  })
}

const folder = join(temporaryDirectory(), "bases")
mkdirSync(folder)
conformance("in a folder", () => targetOf(folder))
conformance("in a bucket", () => targetOf("s3://bases/rest", credentials()))

describe("bases in a bucket", () => {
  it.live("are in the bucket, below the prefix", () =>
    Effect.sync(() => expect(readdirSync(join(bucketDirectory, "bases", "rest")).length).toBeGreaterThan(0))
  )

  it.live("are refused with wrong credentials, as a fault that says so", function* () {
    const target = yield* targetOf("s3://bases/rest", { ...credentials(), AWS_SECRET_ACCESS_KEY: "wrong" })
    const fault = yield* Effect.provide(
      Effect.flatMap(BaseStore, (bases) => Effect.flip(bases.get("0000000000aa/1-0", "/nowhere"))),
      packedBases(target)
    )
    expect(fault._tag).toBe("BaseFault")
    expect(String(fault.message)).toContain("403")
    expect(String(fault.message)).not.toContain("wrong")
  })
})
