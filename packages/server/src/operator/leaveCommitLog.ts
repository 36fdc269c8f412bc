/** What `muniment downgrade` does, with the directory held so that no service runs on it. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { namespaceFolder } from "@muniment/engine/store/sqlite/namespaceFiles"
import { leaveLog } from "@muniment/engine/store/logged/leaveLog"
import { ServiceAddress } from "../Config.ts"
import { DataDirectory, DirectoryUnusable } from "../DataDirectory.ts"

export const leaveCommitLog = Effect.gen(function* () {
  const { dataDirectory: path } = yield* ServiceAddress
  if (!existsSync(join(path, namespaceFolder)))
    return yield* new DirectoryUnusable({ path, cause: new Error("it holds no data of a service") })
  const held = DataDirectory.layer({ path, operatorToken: undefined })
  const changed = yield* Effect.provide(leaveLog(path), held)
  return { path, changed }
})
