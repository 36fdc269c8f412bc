/** What the writer that is killed and the test that looks afterwards both know of message n. */
export const sourceKeyOf = (number: number): string => number.toString(16).padStart(8, "0")

/** Every third message has nothing worth keeping: its mark must be durable all the same. */
export const takesMemory = (number: number): boolean => number % 3 !== 0
