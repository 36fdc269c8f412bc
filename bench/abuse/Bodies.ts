/** Many large bodies at once: what the service's memory grows by while they are under way. */
import { requestBytes, type Target, Wire } from "./Wire.ts"
import { pause } from "./Load.ts"

export interface BodiesResult {
  readonly grownBytes: number
  readonly served: number
  readonly refused: number
}

export const bodiesAtOnce = 200
const memories = 17
const factLength = 61_000
const sampleMillis = 20
/** Memory that has grown by no more in a second is at rest: a service that has just begun starts its threads. */
const restBytes = 4_000_000
const restSecondsMax = 30

/** From one account, or from several in turn. */
export const largeBodies = async (
  target: Target,
  keys: ReadonlyArray<string>,
  residentBytes: () => number
): Promise<BodiesResult> => {
  const memory = { kind: "factual_memory", data: { subject: "Ann", fact: "x ".repeat(factLength / 2) } }
  const body = JSON.stringify({ agentId: "large", memories: Array.from({ length: memories }, () => memory) })
  const requests = keys.map((key) => requestBytes(target, "POST", "/v1/memories", { key, body }))
  const wire = new Wire(target)
  await atRest(residentBytes)
  const { grownBytes, result } = await growthDuring(residentBytes, () =>
    Promise.all(Array.from({ length: bodiesAtOnce }, (_, at) => wire.send(requests[at % requests.length]!)))
  )
  wire.close()
  const served = result.filter(({ status }) => status === 200).length
  return { grownBytes, served, refused: result.length - served }
}

/** By how much memory has grown at most while `attack` ran. */
export const growthDuring = async <Result>(
  residentBytes: () => number,
  attack: () => Promise<Result>
): Promise<{ readonly grownBytes: number; readonly result: Result }> => {
  const before = residentBytes()
  let most = before
  const run = { isOver: false }
  const sampling = (async () => {
    while (!run.isOver) {
      most = Math.max(most, residentBytes())
      await pause(sampleMillis)
    }
  })()
  const result = await attack()
  run.isOver = true
  await sampling
  return { grownBytes: most - before, result }
}

const atRest = async (residentBytes: () => number): Promise<void> => {
  let bytes = residentBytes()
  for (let second = 0; second < restSecondsMax; second++) {
    await pause(1_000)
    const grown = residentBytes() - bytes
    bytes += grown
    if (grown <= restBytes) return
  }
}
