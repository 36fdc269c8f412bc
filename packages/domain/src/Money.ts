/**
 * Money is integers: millionths of a credit ("CC"). One US dollar is 1,000 credits
 * (specification section 2.6); a memory-day of storage is 3,330 millionths (interface.md 10.1).
 */

/** Millionths of a credit; always an integer. */
export type MicroCredits = number

export const microCreditsPerCredit = 1_000_000
export const creditsPerUsd = 1_000
export const storageMicroCreditsPerMemoryDay: MicroCredits = 3_330

/** Whole credits -> millionths. */
export const credits = (amount: number): MicroCredits => {
  const micro = amount * microCreditsPerCredit
  if (!Number.isSafeInteger(micro)) throw new RangeError(`${amount} credits are not a whole number of millionths`)
  return micro
}
