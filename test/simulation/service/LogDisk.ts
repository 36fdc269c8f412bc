/**
 * The disk under the commit log, in memory: stands in for `node:fs` in the log's modules. What was not synced is lost,
 * kept or torn by sectors at a power cut, as the simulator chooses; names follow their directory's sync.
 *
 * A kill makes nothing durable: the next process reads what was written, and a later power cut may lose it. A sync that
 * fails may lose what it was to write: that is read as before and is written by no later sync, unless it is written again.
 */
import { basename, dirname } from "node:path"

const sectorBytes = 512
const blockBytes = 4_096

interface DiskFile {
  /** As a process reads it. */
  bytes: Buffer
  /** As the disk has it. */
  synced: Buffer
  /** Sectors that the next sync writes. */
  readonly dirty: Set<number>
}

type Names = Map<string, DiskFile>

interface NameChange {
  readonly step: (names: Names) => void
  readonly isRemoval: boolean
}

type Chance = () => boolean

class LogDisk {
  names: Names = new Map()
  synced: Names = new Map()
  /** Changes of names since the directory's last sync, in order. */
  changes: Array<NameChange> = []
  isDead = false
  /** Writes and syncs that succeed before the disk begins to fail. */
  failsAfter = Infinity
  /** Whether a sector reaches the disk although its sync fails. */
  keeps: Chance = () => false
  /** Bytes by which files can grow. */
  free = Infinity
}

const disks = new Map<string, LogDisk>()
const handles = new Map<number, { readonly disk: LogDisk; readonly file: DiskFile | undefined }>()
let lastHandle = 1_000

const failure = (code: string): Error => Object.assign(new Error(`${code}: the simulated disk`), { code })

const diskOf = (directory: string): LogDisk => {
  const disk = disks.get(directory)
  if (disk === undefined) throw failure("ENOENT")
  if (disk.isDead) throw failure("EIO")
  return disk
}

const fileAt = (path: string): DiskFile => {
  const file = diskOf(dirname(path)).names.get(basename(path))
  if (file === undefined) throw failure("ENOENT")
  return file
}

const opened = (handle: number) => {
  const known = handles.get(handle)
  if (known === undefined) throw failure("EBADF")
  if (known.disk.isDead) throw failure("EIO")
  return known
}

const fileOf = (handle: number): DiskFile => {
  const { file } = opened(handle)
  if (file === undefined) throw failure("EISDIR")
  return file
}

const change = (disk: LogDisk, step: (names: Names) => void, isRemoval = false): void => {
  step(disk.names)
  disk.changes.push({ step, isRemoval })
}

/** Counts towards the failure that the simulator has ordered. */
const use = (disk: LogDisk): void => {
  if (disk.failsAfter-- <= 0) throw failure("EIO")
}

const take = (disk: LogDisk, bytes: number): void => {
  if (bytes > disk.free) throw failure("ENOSPC")
  disk.free -= bytes
}

export const mkdirSync = (directory: string): void => {
  if (!disks.has(directory)) disks.set(directory, new LogDisk())
}

export const existsSync = (path: string): boolean => {
  const disk = disks.get(dirname(path))
  return disk !== undefined && !disk.isDead && disk.names.has(basename(path))
}

export const openSync = (path: string, flags: string): number => {
  const handle = ++lastHandle
  if (disks.has(path)) {
    handles.set(handle, { disk: diskOf(path), file: undefined })
    return handle
  }
  const disk = diskOf(dirname(path))
  if (flags.startsWith("w")) {
    use(disk)
    if (flags === "wx" && disk.names.has(basename(path))) throw failure("EEXIST")
    const made: DiskFile = { bytes: Buffer.alloc(0), synced: Buffer.alloc(0), dirty: new Set() }
    change(disk, (names) => names.set(basename(path), made))
  }
  handles.set(handle, { disk, file: fileAt(path) })
  return handle
}

export const closeSync = (handle: number): void => {
  handles.delete(handle)
}

export const readSync = (handle: number, target: Uint8Array, at: number, length: number, position: number): number =>
  fileOf(handle).bytes.copy(target, at, position, position + length)

export const writeSync = (
  handle: number,
  bytes: Uint8Array,
  from: number,
  length: number,
  position: number
): number => {
  const file = fileOf(handle)
  use(opened(handle).disk)
  const end = position + length
  if (end > file.bytes.length) {
    take(opened(handle).disk, end - file.bytes.length)
    file.bytes = Buffer.concat([file.bytes], end)
  }
  file.bytes.set(bytes.subarray(from, from + length), position)
  for (let sector = Math.floor(position / sectorBytes); sector * sectorBytes < end; sector++) file.dirty.add(sector)
  return length
}

export const writevSync = (handle: number, buffers: ReadonlyArray<Uint8Array>, position: number): number => {
  const all = Buffer.concat(buffers)
  return writeSync(handle, all, 0, all.length, position)
}

export const fdatasyncSync = (handle: number): void => {
  const { disk, file } = opened(handle)
  if (file === undefined) {
    use(disk)
    for (const { step } of disk.changes.splice(0)) step(disk.synced)
    return
  }
  const sectors = sectorsToWrite(file)
  file.dirty.clear()
  const isFailing = disk.failsAfter <= 0
  file.synced = afterSectors(file, isFailing ? sectors.filter(() => disk.keeps()) : sectors)
  use(disk)
}

export const fsyncSync = fdatasyncSync

export const renameSync = (from: string, to: string): void => {
  const file = fileAt(from)
  change(diskOf(dirname(from)), (names) => {
    names.delete(basename(from))
    names.set(basename(to), file)
  })
}

export const rmSync = (path: string): void => {
  const disk = diskOf(dirname(path))
  disk.free += disk.names.get(basename(path))?.bytes.length ?? 0
  change(disk, (names) => names.delete(basename(path)), true)
}

export const readdirSync = (directory: string): Array<string> => [...diskOf(directory).names.keys()].toSorted()

export const readFileSync = (path: string): Buffer => Buffer.from(fileAt(path).bytes)

export const statSync = (path: string): { readonly size: number } => ({ size: fileAt(path).bytes.length })

export const statfsSync = (directory: string): { readonly bavail: number; readonly bsize: number } => {
  // The file system answers, whatever its disk does.
  const { free } = disks.get(directory) ?? new LogDisk()
  return { bavail: Math.min(1_000_000, Math.floor(free / blockBytes)), bsize: blockBytes }
}

/** What a disk would have if only these sectors had reached it. */
const afterSectors = ({ bytes, synced }: DiskFile, sectors: ReadonlyArray<number>): Buffer => {
  const last = sectors.length === 0 ? 0 : Math.min(bytes.length, (Math.max(...sectors) + 1) * sectorBytes)
  const kept = Buffer.concat([synced], Math.max(synced.length, last))
  for (const sector of sectors) bytes.copy(kept, sector * sectorBytes, sector * sectorBytes, (sector + 1) * sectorBytes)
  return kept
}

/**
 * From now on every use of the log in `directory` that writes or syncs fails after this many. `keeps`: asked once for each
 * sector that a failing sync was to write.
 */
export const failAfter = (directory: string, uses: number, keeps: Chance): void => {
  const disk = diskOf(directory)
  disk.failsAfter = uses
  disk.keeps = keeps
}

/** From now on files can grow by this much. */
export const leaveFree = (directory: string, bytes: number): void => {
  diskOf(directory).free = bytes
}

/** Whether a file of the log holds this text. */
export const holdsText = (directory: string, text: string): boolean =>
  [...(disks.get(directory)?.names.values() ?? [])].some(({ bytes }) => bytes.includes(text))

/** The disk works again and has room. */
export const mendDisk = (directory: string): void => {
  const disk = diskOf(directory)
  disk.failsAfter = Infinity
  disk.free = Infinity
}

/**
 * Ends the disk of `from`; `to` gets what a kill leaves (everything written, and what of it is not synced) or what a power
 * cut leaves: what was synced, and of the rest what `keeps` says, asked once for each sector and each change of a name.
 */
export const cut = (from: string, to: string, keeps: Chance | undefined): void => {
  const disk = disks.get(from)
  if (disk === undefined) return
  disk.isDead = true
  disks.delete(to)
  mkdirSync(to)
  const next = diskOf(to)
  if (keeps === undefined) {
    next.names = disk.names
    next.synced = disk.synced
    next.changes = disk.changes
    return
  }
  for (const [name, file] of namesAfterCut(disk, keeps)) {
    const bytes = afterSectors(
      file,
      sectorsToWrite(file).filter(() => keeps())
    )
    const whole: DiskFile = { bytes, synced: Buffer.from(bytes), dirty: new Set() }
    next.names.set(name, whole)
    next.synced.set(name, whole)
  }
}

/** New names are kept in their order, as a journal does; of the files that were deleted any may come back. */
const namesAfterCut = (disk: LogDisk, keeps: Chance): Names => {
  const names = new Map(disk.synced)
  let isCut = false
  for (const { isRemoval, step } of disk.changes) {
    const isKept = keeps()
    if (!isRemoval) isCut ||= !isKept
    if (isRemoval ? isKept : !isCut) step(names)
  }
  return names
}

const sectorsToWrite = ({ dirty }: DiskFile): ReadonlyArray<number> =>
  [...dirty].toSorted((left, right) => left - right)

export const forgetDisk = (directory: string): void => {
  disks.delete(directory)
  for (const [handle, { disk }] of handles) if (disk.isDead) handles.delete(handle)
}
