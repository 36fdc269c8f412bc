/** A directory of its own for files that commands read and write; gone after the test. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { base58 } from "@scure/base"
import { ed25519PublicKey } from "@muniment/trust/Ed25519"
import { evmSigner, solanaSigner } from "@muniment/trust/WalletSigner"

export const evmKey = `0x${"1c".repeat(32)}`
export const evm = evmSigner(evmKey)
export const otherEvm = evmSigner(`0x${"2d".repeat(32)}`)
const solanaSeed = new Uint8Array(32).fill(0x3e)
export const solana = solanaSigner(solanaSeed)
/** Seed and public key, as wallets export them. */
export const solanaKey = base58.encode(Buffer.concat([solanaSeed, ed25519PublicKey(solanaSeed)]))

export class KeyFiles implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), "muniment-cli-"))

  /** -> path */
  write(name: string, content: string | object, mode = 0o600): string {
    const path = this.path(name)
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content), { mode })
    // A data directory that was opened in this process has set the umask.
    chmodSync(path, mode)
    return path
  }
  path(name: string): string {
    return join(this.directory, name)
  }
  read(name: string): string {
    return readFileSync(this.path(name), "utf8")
  }
  mode(name: string): number {
    return statSync(this.path(name)).mode & 0o777
  }
  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true })
  }
}
