/** Flags that several commands share, so that they are spelled and explained the same way. */
import { Flag } from "effect/cli"
import { Plan } from "@muniment/domain/Account"

const account = Flag.String("account").pipe(Flag.withAlias("a"), Flag.withDescription("Name of the account"))

const plan = Flag.Literals("plan", Plan.literals).pipe(Flag.withDescription("Plan of a new account"), Flag.optional)

const json = Flag.Boolean("json").pipe(Flag.withDescription("Print JSON for programs"), Flag.withDefault(false))

const keyFile = Flag.String("key-file").pipe(
  Flag.withAlias("k"),
  Flag.withDescription("File with the wallet's key: EVM hex, Solana base58 or JSON list; never printed")
)

const service = Flag.String("service").pipe(
  Flag.withDescription("Name of the service that the grant is for (MUNIMENT_SERVICE_NAME)"),
  Flag.withDefault("muniment")
)

const url = Flag.String("url").pipe(
  Flag.withDescription(
    "Where the service is; by default as MUNIMENT_URL, a profile, or MUNIMENT_DATA_DIR, MUNIMENT_HOST and MUNIMENT_PORT say"
  ),
  Flag.optional
)

const apiKey = Flag.String("api-key").pipe(
  Flag.withDescription("API key of the account; without it the wallet signs, and its own account is meant"),
  Flag.optional
)

/** Of commands that need no wallet. */
const callerKey = Flag.String("api-key").pipe(
  Flag.withDescription("API key of the account, else MUNIMENT_API_KEY, which no process list shows, or the profile's"),
  Flag.optional
)

const from = Flag.String("from").pipe(
  Flag.withDescription("First day, YYYY-MM-DD, UTC; default the first of this month"),
  Flag.optional
)

const to = Flag.String("to").pipe(Flag.withDescription("Last day, YYYY-MM-DD, UTC; default today"), Flag.optional)

const csv = Flag.Boolean("csv").pipe(Flag.withDescription("Print CSV for spreadsheets"), Flag.withDefault(false))

export const flags = { account, plan, json, keyFile, service, url, apiKey, callerKey, from, to, csv }

const day = (name: string, which: string) =>
  Flag.optional(Flag.String(name).pipe(Flag.withDescription(`${which} day, YYYY-MM-DD, UTC; default all that is kept`)))

/** Of commands that show a log. */
export const logFlags = {
  from: day("from", "First"),
  to: day("to", "Last"),
  limit: Flag.Int("limit").pipe(Flag.withDescription("Rows shown, 1 to 1,000"), Flag.withDefault(100))
}
