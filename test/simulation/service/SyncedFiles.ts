/** Stands in for `node:fs/promises` where copies are synced: notes how much of each file a power cut leaves. */
import { existsSync, statSync } from "node:fs"

const syncedBytes = new Map<string, number>()

export const syncedBytesOf = (path: string): number => syncedBytes.get(path) ?? 0

export const open = async (path: string) => {
  if (!existsSync(path)) throw Object.assign(new Error("ENOENT: no such file"), { code: "ENOENT" })
  return {
    sync: async (): Promise<void> => void syncedBytes.set(path, statSync(path).size),
    close: async (): Promise<void> => void path
  }
}

export const forgetSynced = (directory: string): void => {
  for (const path of syncedBytes.keys()) if (path.startsWith(directory)) syncedBytes.delete(path)
}
