/**
 * Who may open files without SQLite. POSIX drops the locks of a process on a database file when any of its descriptors is
 * closed, so a module of the service that opens files says here what they are; databases are opened by `ClosedFile`
 * alone, which says when that is safe. Functions that take no descriptor, such as `stat`, `rename` and `rm`, are free.
 */
import type { Finding } from "./Finding.ts"
import { isNode, type SourceFile, type SyntaxNode, walk } from "./SourceFile.ts"

/** Start of a path -> what is opened there. */
const opened: Readonly<Record<string, string>> = {
  "packages/sqlite/src/ClosedFile.ts": "databases that no connection of this process has open",
  "packages/backup/src/RestoreBackup.ts": "files of a directory that no service uses yet",
  "packages/backup/src/copies/copyOf.ts": "files of keys",
  "packages/backup/src/target/openTarget.ts": "objects of a backup",
  "packages/cluster/src/bases/BaseStore.ts": "copies of databases on their way to and from a bucket, before their use",
  "packages/control/src/database/check/ControlCopies.ts": "the note of the base",
  "packages/engine/src/host/FileGuard.ts": "the ballast",
  "packages/engine/src/log/": "segments of the commit log",
  "packages/engine/src/store/sqlite/CommitThread.ts": "limits of the process",
  "packages/engine/src/store/sqlite/namespaceFiles.ts":
    "the folder of namespaces, and a file that is made, before it gets its name",
  "packages/engine/src/vectors/": "graphs of vectors, and the kernels",
  "packages/models/src/": "files of models",
  "packages/server/src/DataDirectory.ts": "the lock note, the note of a move and the operator's token",
  "packages/server/src/admission/ProcessorWait.ts": "what the kernel counts of threads",
  "packages/server/src/cluster/moveIntoCluster.ts": "files of keys, and copies of databases that are closed",
  "packages/server/src/cluster/moveOutOfCluster.ts": "the mark of a move",
  "packages/server/src/console/ConsoleRoutes.ts": "files of the console",
  "packages/server/src/docs/DocsRoutes.ts": "pages",
  "packages/server/src/handbook/HandbookRoutes.ts": "pages",
  "packages/server/src/jobs/Scrubber.ts": "the note of the scrubber",
  "packages/server/src/operator/LastBackup.ts": "the note of the last backup",
  "packages/server/src/operator/series/": "the minutes of the series",
  "packages/trust/src/": "files of keys"
}

/** They run in a process of their own beside the service, or where there are no databases. */
const otherProcesses = new Set(["adapters", "cli", "client", "console", "domain", "python", "worker"])

const openers = new Set(
  ["appendFile", "copyFile", "cp", "open", "readFile", "truncate", "writeFile"]
    .flatMap((name) => [name, `${name}Sync`])
    .concat("createReadStream", "createWriteStream", "openAsBlob")
)
const fileModules = new Set(["node:fs", "node:fs/promises", "fs", "fs/promises"])

export const rawOpenFindings = (file: SourceFile): ReadonlyArray<Finding> => {
  const isFree = file.packageName === undefined || otherProcesses.has(file.packageName)
  if (isFree || Object.keys(opened).some((start) => file.path.startsWith(start))) return []
  const findings: Array<Finding> = []
  walk(file.program, (node) => {
    for (const name of openedBy(node))
      findings.push({
        path: file.path,
        line: file.lineAt(node.start),
        rule: "raw open",
        message: `${name}: a database file that SQLite has open must not be opened otherwise (ClosedFile.ts); what else is opened is listed in RawOpens.ts`
      })
  })
  return findings
}

/** The whole module under a name opens as well; so does Effect's `FileSystem`. */
const openedBy = (node: SyntaxNode): ReadonlyArray<string> => {
  if (node.type !== "ImportDeclaration" || node["importKind"] === "type") return []
  const source = isNode(node["source"]) ? String(node["source"]["value"]) : ""
  const specifiers = Array.isArray(node["specifiers"]) ? node["specifiers"].filter(isNode) : []
  return specifiers.flatMap((specifier) => {
    if (specifier["importKind"] === "type") return []
    if (specifier.type !== "ImportSpecifier") return fileModules.has(source) ? [source] : []
    const imported = isNode(specifier["imported"]) ? String(specifier["imported"]["name"]) : ""
    const isOpener = fileModules.has(source)
      ? openers.has(imported) || imported === "promises"
      : imported === "FileSystem"
    return isOpener ? [imported] : []
  })
}
