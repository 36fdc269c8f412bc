/**
 * List of what a run against a cluster (`MUNIMENT_TEST_NODES=3`) leaves out, and why: what is one machine's by nature,
 * its files, its process, its start. `test/README.md` says what passes.
 */

const backups = "`muniment backup` copies the files of one machine; a node refuses it"
const bytes = "looks for erased words in the files of one machine; those of a cluster: `ReplicatedStore.test.ts`"
const changed = "changes `control.db` while the service is stopped, as time would"
const moves = "moves the directory of one machine into a cluster of its own, and back"
const processes = "one process is what is tested: its start, its end, its log, its exit code"

/** Below `test/integration`. */
export const oneBoxFiles: Readonly<Record<string, string>> = {
  "account-erasure.test.ts": bytes,
  "backup-directories.test.ts": backups,
  "backup-moment.long.test.ts": backups,
  "backup-moment.test.ts": backups,
  "backup-s3.test.ts": backups,
  "backup-verify.test.ts": backups,
  "backup.test.ts": backups,
  "cluster.test.ts": "starts nodes of its own, and stops them",
  "credits-statement.test.ts": changed,
  "data-directory.test.ts": "the files of a directory are what is tested",
  "data-size.test.ts": "weighs the files of one machine",
  "documents-commands.test.ts": "runs the commands of the pages, which begin with one machine",
  "erasure.test.ts": bytes,
  "first-build.test.ts": "opens a directory of the first build",
  "loop-slices.test.ts": "measures one process from inside",
  "local-model.long.test.ts": processes,
  "migrate-large.test.ts": moves,
  "migrate.test.ts": moves,
  "readiness.test.ts": processes,
  "reread.test.ts": "is started again with a language model",
  "retired-agents.test.ts": changed,
  "shutdown.test.ts": processes,
  "start-failures.test.ts": processes,
  "start-secrets.test.ts": processes,
  "storage-insurance.test.ts": changed,
  "vector-backlog.test.ts": "takes vectors out of the files of a stopped service"
}

/** Of files that run otherwise. */
const oneBoxTests = {
  directoryFiles: "looks into, or changes, the files of the data directory",
  backups,
  changed,
  ownPort: "a node is called by the port of its balancer, which its settings name",
  faultyDisk: "the disk refuses `control.db`, which on nodes is a copy"
} as const satisfies Readonly<Record<string, string>>

export type OneBoxTest = keyof typeof oneBoxTests

/** Nodes of a server of this run; 1: no cluster. */
export const testNodes = Number(process.env["MUNIMENT_TEST_NODES"] ?? 1)

/** What a run against a cluster does not test on it, a line each. */
export const leftOut = (): string =>
  [
    `Left out against ${testNodes} nodes:`,
    ...Object.entries(oneBoxFiles).map(([file, reason]) => `  ${file}: ${reason}`),
    "Single tests are skipped, or use one machine, because of what they are about:",
    ...Object.values(oneBoxTests).map((reason) => `  ${reason}`)
  ].join("\n")

/** For `it.runIf`. */
export const runsOnOneBox = (_reason: OneBoxTest): boolean => testNodes === 1
