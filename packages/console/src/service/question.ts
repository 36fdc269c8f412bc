/** The question that was asked last: whoever then looks for the memory that it did not find need not type it again. */
import { signal } from "@preact/signals"

export const lastQuestion = signal("")
