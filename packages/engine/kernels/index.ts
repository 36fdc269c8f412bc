/** Exports of the compiled module; `src/vectors/arena/Kernels.ts` declares their types. */
export { sortBestFirst } from "./heap"
export { rotate, unrotate } from "./rotation"
export { decodeRow, encodeQuery, encodeRow, largestResidual, residuals, scanRows, scoreRow, scoreSlots } from "./rows"
export { addTo, halfSquares, nearestList, probe } from "./lists"
export { intersect } from "./bitmaps"
export { clearCode, countAllowed, encodeCode, encodeTables, scanCodes } from "./codes"
