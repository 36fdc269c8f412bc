/**
 * The map as a client sees it: a real server in a process of its own with the default model, 5,000 short distinct
 * memories imported over HTTP, then the map asked for over HTTP. A thread of its own asks for `/health/live`
 * meanwhile: its longest wait is how long the map blocked other requests.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { loadavg, tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { mapLimits } from "@muniment/insight/map/MemoryMap"
import { longestMillis, whileProbing } from "../../test/support/LivenessProbe.ts"
import { sentences } from "../../test/support/Sentences.ts"
import { BenchServer } from "../http/BenchServer.ts"
import { HttpClient } from "../http/HttpClient.ts"

const batchMax = 100
const people = 20

interface MapAnswer {
  readonly clusters: ReadonlyArray<unknown>
  readonly points: ReadonlyArray<unknown>
}

export const reportEndToEnd = async (modelsDir: string, rounds: number): Promise<void> => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-bench-map-"))
  try {
    const server = await BenchServer.start({
      dataDirectory,
      environment: {
        MUNIMENT_MODELS_DIR: resolve(modelsDir),
        MUNIMENT_RATE_LIMITS: "off",
        MUNIMENT_MONTHLY_ALLOWANCE: "1000000"
      }
    })
    const client = new HttpClient(server.port)
    await importSentences(client)
    await server.untilIdle()
    await timeMaps(server, client, rounds)
    client.close()
    await server.stop()
  } finally {
    rmSync(dataDirectory, { recursive: true, force: true })
  }
}

const importSentences = async (client: HttpClient): Promise<void> => {
  const texts = sentences(mapLimits.memoriesMax)
  for (let from = 0; from < texts.length; from += batchMax) {
    const memories = texts.slice(from, from + batchMax).map((fact, at) => ({
      kind: "factual_memory",
      data: { subject: `person ${(from + at) % people}`, fact }
    }))
    await client.json("POST", "/v1/memories/batch/create", { agentId: "bench", wait: "vectors", memories })
  }
}

const timeMaps = async (server: BenchServer, client: HttpClient, rounds: number): Promise<void> => {
  const path = `/v1/memories/search?query=what%20happened&mode=map&limit=${mapLimits.memoriesMax}`
  const millis: Array<number> = []
  const pauses: Array<number> = []
  let clusters = 0
  for (let round = 0; round <= rounds; round++) {
    const probed = { processes: [{ url: `http://127.0.0.1:${server.port}`, pid: undefined }] }
    const { result, waits } = await whileProbing(probed, () => client.json<MapAnswer>("GET", path))
    const { points } = result.body
    if (points.length !== mapLimits.memoriesMax) throw new Error(`the map shows ${points.length} memories`)
    clusters = result.body.clusters.length
    millis.push(result.millis)
    pauses.push(longestMillis(waits))
  }
  const [first = 0, ...warm] = millis
  const sorted = warm.toSorted((left, right) => left - right)
  const figures = [first, sorted[sorted.length >> 1] ?? first, sorted.at(-1) ?? first].map((value) => value.toFixed(0))
  console.log(`\nover HTTP, ${mapLimits.memoriesMax} memories, ${rounds} rounds (load ${loadavg()[0]!.toFixed(2)})`)
  console.log(`first ${figures[0]}, median ${figures[1]}, worst ${figures[2]}; ${clusters} clusters`)
  console.log(`longest wait of another request: ${pauses.map((pause) => pause.toFixed(0)).join(", ")}`)
}
