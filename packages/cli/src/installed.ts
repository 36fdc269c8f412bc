/**
 * Entry of the installed package. There `serve` also brings the embedding model, as the set-up does in a clone. Its
 * first line is written by `scripts/pack/ServiceBundle.ts`.
 */
if (process.argv[2] === "serve") process.argv.splice(3, 0, "--fetch-model")
await import("./bin.ts")
