/** A quarter of the repetitions of a costly test in the everyday run; all of them in `npm run test:long`. */
export const repetitions = (full: number): number =>
  process.env["MUNIMENT_LONG_TESTS"] === "1" ? full : Math.ceil(full / 4)
