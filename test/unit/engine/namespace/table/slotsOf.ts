/** The slots of a bitmap, ascending. */
import type { Bitmap } from "@muniment/engine/bitmap/Bitmap"

export const slotsOf = (bitmap: Bitmap): ReadonlyArray<number> => {
  const slots: Array<number> = []
  bitmap.forEach((slot) => slots.push(slot))
  return slots
}
