/** Everybody who takes part, in the order of the tables: ours first, then the peers. */
import type { ContenderKind } from "./Contender.ts"
import { hnswlib } from "./contenders/hnswlib.ts"
import { lance } from "./contenders/lance.ts"
import { ours, oursSwept } from "./contenders/ours.ts"
import { plainScan } from "./contenders/plainScan.ts"
import { sqliteVec } from "./contenders/sqliteVec.ts"
import { usearch } from "./contenders/usearch.ts"

export const contenderKinds: ReadonlyArray<ContenderKind> = [
  ours("auto"),
  ours("exact"),
  ours("quantized"),
  ours("hnsw"),
  oursSwept,
  hnswlib,
  usearch("f32"),
  usearch("f16"),
  sqliteVec,
  lance("flat"),
  lance("HNSW_SQ"),
  plainScan
]

/** What `auto` chooses from. */
export const singleEngines: ReadonlyArray<string> = ["ours, exact", "ours, quantized", "ours, hnsw"]

/** What the goals compare. */
export const contenderNames = {
  auto: "ours, auto",
  hnswlib: "hnswlib-node",
  sqliteVec: "sqlite-vec",
  lance: "LanceDB HNSW_SQ",
  lanceFlat: "LanceDB flat"
} as const
