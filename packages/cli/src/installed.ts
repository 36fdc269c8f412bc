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

if (process.argv[2] === "serve") process.argv.splice(3, 0, "--fetch-model")
await import("./bin.ts")
