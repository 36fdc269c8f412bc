/** A backup of a service, and the file of a damaged agent brought back out of it, as the operations page says. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startMuniment } from "../support/CliProcess.ts"

export class AgentBackups {
  readonly #dataDirectory: string
  readonly #work = mkdtempSync(join(tmpdir(), "muniment-storm-"))
  #isMade = false

  constructor(dataDirectory: string) {
    this.#dataDirectory = dataDirectory
  }

  get isMade(): boolean {
    return this.#isMade
  }

  /** Of the service that runs. It ends with 1 where a file is damaged, and has all others. */
  async make(): Promise<void> {
    const { code, err } = await this.#run(["backup", "create", "--to", this.#place])
    if (code !== 0 && !err.includes("damaged")) throw new Error(`no backup: ${code} ${err}`)
    this.#isMade = true
  }

  /** While no service runs: brings back these files, as far as the backup has them. */
  async bringBack(tags: ReadonlyArray<string>): Promise<void> {
    if (tags.length === 0) return
    const restored = join(this.#work, "restored")
    const { code, err } = await this.#run(["restore", "--from", this.#place, "--to", restored])
    if (code !== 0) throw new Error(`not restored: ${code} ${err}`)
    for (const tag of tags) {
      const file = join("namespaces", `${tag}.db`)
      if (!existsSync(join(restored, file))) continue
      copyFileSync(join(restored, file), join(this.#dataDirectory, file))
      for (const end of ["-wal", "-shm"]) rmSync(join(this.#dataDirectory, `${file}${end}`), { force: true })
    }
    rmSync(restored, { recursive: true })
  }

  remove(): void {
    rmSync(this.#work, { recursive: true, force: true })
  }

  get #place(): string {
    return join(this.#work, "backups")
  }

  #run(words: ReadonlyArray<string>) {
    return startMuniment(words, { MUNIMENT_DATA_DIR: this.#dataDirectory }).ended
  }
}
