/**
 * Disks whose power can be cut: what a writer has not synced may be gone, and what it has synced is there.
 *
 * `realDisk`: ext4 on a loop device, shut down without its journal and mounted again; needs root and loop devices. It is
 * unmounted and removed however the test's process ends.
 * `imageDisk`: a copy of each file as of its last sync, which takes the place of the directory; needs a C compiler.
 */
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { repository } from "./TestServer.ts"
import { whenEnded } from "./whenEnded.ts"

export interface CutDisk {
  readonly directory: string
  /** Of the writer. */
  readonly environment: Readonly<Record<string, string>>
  /** Cuts the power, lets `end` end the writer, and starts again. Nothing of the disk may be open in the test. */
  readonly cut: (end: () => Promise<void>) => Promise<void>
  readonly remove: () => Promise<void>
}

/** Folders that the image needs before a file in them is synced. */
const folders = ["log", "namespaces"]

/** Undefined with a message where the machine cannot. */
export const realDisk = (mebibytes: number): CutDisk | undefined => {
  const work = mkdtempSync(join(tmpdir(), "muniment-cut-"))
  const [disk, directory, shutDown] = [join(work, "disk"), join(work, "mounted"), join(work, "shutDown")]
  const mount = () => run("mount", "-o", "loop", disk, directory)
  /** As a copy: mount namespaces of other tests may keep the file system that was shut down, and its loop device. */
  const mountAgain = () => {
    run("umount", directory)
    run("cp", "--sparse=always", disk, `${disk}.copy`)
    renameSync(`${disk}.copy`, disk)
    mount()
  }
  const cutNow = async (end: () => Promise<void>) => {
    run(shutDown, directory)
    await end()
    mountAgain()
  }
  const remove = whenEnded('umount --lazy "$2" 2>/dev/null; rm -rf "$1"', work, directory)
  try {
    mkdirSync(directory)
    writeFileSync(disk, "")
    truncateSync(disk, mebibytes * 1_048_576)
    build("shutDown.c", [], shutDown)
    run("mkfs.ext4", "-q", "-F", disk)
    mount()
    run(shutDown, directory)
    mountAgain()
  } catch (cause) {
    void remove()
    const reason = cause instanceof Error ? cause.message : String(cause)
    console.warn(`No real power cuts here: they need root, loop devices, ext4 and a C compiler (${reason}).`)
    return undefined
  }
  return { directory, environment: {}, cut: cutNow, remove }
}

export const imageDisk = (): CutDisk => {
  const work = mkdtempSync(join(tmpdir(), "muniment-image-"))
  const [directory, image, library] = [join(work, "real"), join(work, "image"), join(work, "syncedImage.so")]
  build("syncedImage.c", ["-shared", "-fPIC", "-O1", "-lpthread", "-ldl"], library)
  for (const folder of folders) {
    mkdirSync(join(directory, folder), { recursive: true })
    mkdirSync(join(image, folder), { recursive: true })
  }
  return {
    directory,
    environment: { LD_PRELOAD: library, MUNIMENT_REAL: directory, MUNIMENT_IMAGE: image },
    cut: async (end) => {
      await end()
      rmSync(directory, { recursive: true })
      cpSync(image, directory, { recursive: true, filter: (path) => !path.endsWith(".image") })
    },
    remove: async () => rmSync(work, { recursive: true, force: true })
  }
}

const build = (source: string, flags: ReadonlyArray<string>, output: string): void =>
  run("cc", "-o", output, join(repository, "test/support", source), ...flags)

const run = (command: string, ...words: ReadonlyArray<string>): void => {
  const { error, status, stderr } = spawnSync(command, words, { encoding: "utf8" })
  if (status !== 0) throw new Error(`${command} ${words.join(" ")}: ${error?.message ?? stderr.trim()}`)
}
