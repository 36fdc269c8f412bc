/** The machine of the database is lost while its standby lags behind; the standby takes its place. */
import { Standby } from "../../support/Standby.ts"
import type { Fault } from "./Fault.ts"

/** What is committed meanwhile is nowhere but on the machine that is lost. */
const lagMillis = 1_000

export const promotedStandby: Fault = {
  name: "standby promoted",
  strike: async ({ postgres, replacePostgres }) => {
    const standby = await Standby.start(postgres)
    try {
      standby.link.hold()
      await new Promise((resume) => setTimeout(resume, lagMillis))
      const sinceMillis = performance.now()
      await postgres.kill()
      await standby.promote()
      replacePostgres(standby.server)
      return { sinceMillis, heal: () => postgres.stop() }
    } catch (cause) {
      await standby.stop()
      throw cause
    }
  }
}
