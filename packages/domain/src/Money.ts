/**
 * Money as integers: millionths of a credit (contract: Credits). `creditsPerUsd` and `storageMicroCreditsPerMemoryDay`
 * are the rates.
 */

/** Millionths of a credit; always an integer. */
export type MicroCredits = number

export const microCreditsPerCredit = 1_000_000
export const creditsPerUsd = 1_000
export const storageMicroCreditsPerMemoryDay: MicroCredits = 3_330

/** USDC has 6 decimals: a unit is a millionth of a dollar, so a thousandth of a credit. */
export const usdcUnitsPerCent = 10_000
export const microCreditsPerUsdcUnit: MicroCredits = 1_000

/** Millionths -> credits, for answers; exact, since a double holds 15 digits. */
export const toCredits = (micro: MicroCredits): number => micro / microCreditsPerCredit

/** Millionths -> US dollars, for answers. */
export const toUsd = (micro: MicroCredits): number => micro / (microCreditsPerCredit * creditsPerUsd)

/** Credits with decimals -> the nearest millionths. */
export const nearestMicroCredits = (amount: number): MicroCredits => Math.round(amount * microCreditsPerCredit)

/** Whole credits -> millionths. */
export const credits = (amount: number): MicroCredits => {
  const micro = amount * microCreditsPerCredit
  if (!Number.isSafeInteger(micro)) throw new RangeError(`${amount} credits are not a whole number of millionths`)
  return micro
}
