/**
 * Order of the test files: the slowest first, so that no worker is left with one of them at the end. How long each took
 * is what `npm test -- --record` noted; a file that it does not know comes first.
 */
import { readFileSync } from "node:fs"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { fileSecondsFile, nameOfFile } from "./fileSeconds.ts"

export class SlowestFirst extends BaseSequencer {
  override sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const seconds: Readonly<Record<string, number>> = JSON.parse(readFileSync(fileSecondsFile, "utf8"))
    const of = ({ moduleId }: TestSpecification): number => seconds[nameOfFile(moduleId)] ?? Infinity
    // Infinity minus itself is no number.
    return Promise.resolve(files.toSorted((one, other) => (of(one) === of(other) ? 0 : of(other) - of(one))))
  }
}
