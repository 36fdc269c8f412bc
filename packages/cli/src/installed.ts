/**
 * Entry of the installed package. There `serve` also brings the embedding model, as the set-up does in a clone. Its
 * first line is written by `scripts/pack/ServiceBundle.ts`.
 */
// Node 22 calls its SQLite experimental, which tells users nothing.
const listeners = process.listeners("warning")
process.removeAllListeners("warning")
process.on("warning", (warning) => {
  if (warning.name !== "ExperimentalWarning") for (const listener of listeners) listener(warning)
})

// Asked instead of the version: before 22.20 and 24.7 the SQLite module takes no numbered parameters, before 22.5 there is none.
try {
  const { DatabaseSync } = await import("node:sqlite")
  const database = new DatabaseSync(":memory:")
  database.prepare("SELECT ?1").get(1)
  database.close()
} catch {
  process.stderr.write(
    `muniment needs Node 22.20 or later of 22, or 24.7 or later; this is ${process.version}. Install one (your package manager, nvm, fnm or volta: version 24), then run this again.\n`
  )
  process.exit(1)
}

if (process.argv[2] === "serve") process.argv.splice(3, 0, "--fetch-model")
await import("./bin.ts")
