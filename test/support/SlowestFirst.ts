/**
 * Order of the test files: the slowest first, so that no worker is left with one of them at the end. Files that take
 * long for their size are named; the others go by folder, from killed processes to unit tests, and then by size.
 */
import { statSync } from "node:fs"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Ten seconds and more on two cores, longest first; the beginning of the path. */
const slow = [
  "crash/KillNine",
  "integration/shutdown",
  "integration/errors",
  "integration/console-large",
  "component/engine/vectors/HnswConformance",
  "component/engine/vectors/PlannedConformance",
  "crash/PaymentChargeKills",
  "crash/PaymentKills",
  "component/models/Embedder",
  "component/server/VectorBacklog",
  "component/insight/rules/RuleExtractor",
  "component/insight/map/DrawMap",
  "integration/documents",
  "integration/extraction-model",
  "integration/payments-",
  "crash/",
  "component/engine/store/CommitThread",
  "component/engine/vectors/",
  "simulation/",
  "property/",
  "integration/",
  "component/",
  "unit/"
]

export class SlowestFirst extends BaseSequencer {
  override sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const places = new Map(files.map((file) => [file, placeOf(file.moduleId)]))
    const sizes = new Map(files.map((file) => [file, statSync(file.moduleId).size]))
    const before = (one: TestSpecification, other: TestSpecification): number =>
      places.get(one)! - places.get(other)! || sizes.get(other)! - sizes.get(one)!
    return Promise.resolve(files.toSorted(before))
  }
}

const placeOf = (file: string): number => {
  const path = file.replaceAll("\\", "/")
  const place = slow.findIndex((beginning) => path.includes(`/test/${beginning}`))
  return place < 0 ? slow.length : place
}
