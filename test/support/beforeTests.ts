import { afterAll, beforeAll } from "vitest"

/**
 * What the tests of a file or of a describe block use: begun before them, ended after them. It is there within tests and
 * hooks, not while the file is read.
 */
export const beforeTests = <A extends object>(begin: () => Promise<A>, end?: (value: A) => unknown): A => {
  let value: A | undefined
  const there = (): A => {
    if (value === undefined) throw new Error("it is there within tests and hooks alone")
    return value
  }
  beforeAll(async () => {
    value = await begin()
  })
  if (end !== undefined) afterAll(() => (value === undefined ? undefined : end(value)))
  return new Proxy({} as A, {
    get: (_, name) => {
      const found: unknown = Reflect.get(there(), name, value)
      return typeof found === "function" ? found.bind(value) : found
    },
    set: (_, name, given) => Reflect.set(there(), name, given, value)
  })
}
