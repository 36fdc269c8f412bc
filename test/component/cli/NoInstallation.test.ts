/** Commands that work on an installation, where there is none: a sentence, and nothing is made. */
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { runMuniment } from "../../support/CliProcess.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

/** `OUT` stands for a path beside the data directory. */
const commands = [
  "keys create --account ann",
  "keys list",
  "keys revoke key_1",
  "accounts create ann",
  "accounts list",
  "accounts plan ann pro",
  "accounts quotas ann",
  "accounts remember ann extracted",
  "accounts instructions ann tastes",
  "accounts suspend ann",
  "accounts resume ann",
  "accounts erase ann --dry-run",
  "accounts unlink 0x8ba1f109551bD432803012645Ac136ddd64DBA72",
  "wallets link --account ann --address 0x8ba1f109551bD432803012645Ac136ddd64DBA72",
  "audit",
  "requests",
  "console",
  "attest keys list",
  "attest keys rotate",
  "ledger check",
  "ledger adjust --account ann --credits 1 --reason gift --key one",
  "payments list",
  "payments reconcile",
  "webhooks list",
  "webhooks test",
  "statement --account ann",
  "revenue",
  "jobs list",
  "jobs run",
  "consolidate list",
  "consolidate run",
  "consolidate undo con_1",
  "models usage",
  "doctor",
  "status",
  "reembed",
  "reembed --status",
  "reread --dry-run",
  "export --account ann --out OUT",
  "backup create --to OUT"
]

it.each(commands)("muniment %s: refuses a directory that is not there", async (command) => {
  const root = temporaryDirectory()
  const args = command.split(" ").map((word) => (word === "OUT" ? join(root, "out") : word))
  const { code, err, out } = await runMuniment(args, { MUNIMENT_DATA_DIR: join(root, "data") })
  expect([code, `${err}${out}`]).toEqual([1, expect.stringMatching(/holds no installation|No service is running/)])
  expect(readdirSync(root)).toEqual([])
})

it("refuses a directory that holds other things, and leaves it as it is", async () => {
  const data = temporaryDirectory()
  mkdirSync(join(data, "photos"))
  writeFileSync(join(data, "notes.txt"), "milk")
  const { code, err } = await runMuniment(["keys", "create", "--account", "ann"], { MUNIMENT_DATA_DIR: data })
  expect([code, err]).toEqual([1, expect.stringContaining(data)])
  expect(readdirSync(data).toSorted()).toEqual(["notes.txt", "photos"])
})

it("says what is in the way where it cannot look", async () => {
  const data = join(temporaryDirectory(), "data")
  symlinkSync(data, data)
  const { code, err } = await runMuniment(["keys", "list"], { MUNIMENT_DATA_DIR: data })
  expect([code, err]).toEqual([1, expect.stringMatching(/cannot be used: ELOOP/)])
})
