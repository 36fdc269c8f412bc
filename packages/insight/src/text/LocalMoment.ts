/** Moments as prompts show them: "Tue 30 Jun 2026 18:00". */

export const dayAndTime = (millis: number, timeZone: string): string => {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23"
  }).format(millis)
  return parts.replaceAll(",", "").replace(" at ", " ")
}

/** Without the time. */
export const dayOnly = (moment: string): string => moment.replace(/ \d\d:\d\d$/, "")

/** Of an ISO 8601 date-time, in its own offset; undefined: it is none. */
export const spokenMoment = (saidOn: string | undefined): string | undefined => {
  const [local] = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.exec(saidOn ?? "") ?? []
  const millis = Date.parse(local === undefined ? (saidOn ?? "") : `${local}Z`)
  return Number.isNaN(millis) ? undefined : dayAndTime(millis, "UTC")
}
