/** Size of a segment: the neighbouring slots whose encoded vectors are stored together. Part of the file format. */

/** `slot >>> segmentShift` is the number of a slot's segment. */
export const segmentShift = 10
export const slotsPerSegment = 1 << segmentShift
