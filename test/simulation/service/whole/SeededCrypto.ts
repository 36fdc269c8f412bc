/** Stands in for chance in the service: ids, keys and tokens that the seed replays. They are no secrets. */
import { SeededRandom } from "../../../support/SeededRandom.ts"

export * from "node:crypto"

let chance = new SeededRandom(0)

export const seedCrypto = (seed: number): void => {
  chance = new SeededRandom(seed ^ 0x5eed)
}

const fill = <A extends ArrayBufferView>(view: A): A => {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
  for (let at = 0; at < bytes.length; at++) bytes[at] = chance.between(0, 255)
  return view
}

export const randomBytes = (count: number): Buffer => fill(Buffer.alloc(count))

export const randomUUID = (): string => {
  const hex = randomBytes(16).toString("hex")
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20)].join("-")
}

/** For what asks Effect. */
export const seededChance = {
  nextIntUnsafe: (): number => chance.between(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  nextDoubleUnsafe: (): number => chance.next()
}

/** For what asks the platform. */
export const takeOverCrypto = (): void => {
  Object.defineProperty(globalThis.crypto, "getRandomValues", { value: fill, configurable: true })
  Object.defineProperty(globalThis.crypto, "randomUUID", { value: randomUUID, configurable: true })
}
