/** Days as text, `YYYY-MM-DD`, UTC: the ledger, the daily job. */
export const dayMillis = 86_400_000

/** UTC day of a time. */
export const dayOf = (atMillis: number): string => new Date(atMillis).toISOString().slice(0, "2026-01-01".length)
