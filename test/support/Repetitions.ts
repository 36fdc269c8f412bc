/**
 * `npm run test:long` runs then: every test and case. A test behind `if (isLongRun)` is costly, and a shorter one beside it
 * holds what it proves every day.
 */
export const isLongRun = process.env["MUNIMENT_LONG_TESTS"] === "1"

/** A quarter of the repetitions of a costly test in the everyday run; all of them in `npm run test:long`. */
export const repetitions = (full: number): number => (isLongRun ? full : Math.ceil(full / 4))

/** The first of a list of costly cases in the everyday run; all of them in `npm run test:long`. */
export const everyDay = <A>(count: number, cases: ReadonlyArray<A>): ReadonlyArray<A> =>
  isLongRun ? cases : cases.slice(0, count)

/** The repetitions of a long test; `MUNIMENT_TEST_COUNT` has another number, for a run in slices of one seed each. */
export const longCount = (full: number): number => Number(process.env["MUNIMENT_TEST_COUNT"] ?? full)

/** Of a test that goes on for a time: `MUNIMENT_TEST_MINUTES` has another. */
export const longMinutes = (full: number): number => Number(process.env["MUNIMENT_TEST_MINUTES"] ?? full)
