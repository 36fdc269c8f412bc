/** Stands in for `node:fs/promises` in the log's modules, over the simulated disk. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statfsSync, writeSync } from "./LogDisk.ts"

export const open = async (path: string, flags: string) => {
  const handle = openSync(path, flags)
  let at = 0
  return {
    writeFile: async (bytes: Uint8Array): Promise<void> => {
      at += writeSync(handle, bytes, 0, bytes.length, at)
    },
    sync: async (): Promise<void> => fsyncSync(handle),
    close: async (): Promise<void> => closeSync(handle)
  }
}

export const rename = async (from: string, to: string): Promise<void> => renameSync(from, to)

export const rm = async (path: string): Promise<void> => rmSync(path)

export const statfs = async (directory: string) => statfsSync(directory)
