/** Flags that several commands share, so that they are spelled and explained the same way. */
import { Option } from "effect"
import { Flag } from "effect/cli"
import { Plan } from "@muniment/domain/Account"
import { pathFlag } from "../InputFile.ts"

/** A text that may be left out. */
export const optionalText = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

const account = Flag.String("account").pipe(Flag.withAlias("a"), Flag.withDescription("Name of the account"))

const plan = Flag.Literals("plan", Plan.literals).pipe(Flag.withDescription("Plan of a new account"), Flag.optional)

const json = Flag.Boolean("json").pipe(Flag.withDescription("Print JSON for programs"), Flag.withDefault(false))

const keyFile = pathFlag(
  "key-file",
  "File with the wallet's key: EVM hex, Solana base58 or JSON list; never printed"
).pipe(Flag.withAlias("k"))

const service = Flag.String("service").pipe(
  Flag.withDescription("Name of the service that the grant is for (MUNIMENT_SERVICE_NAME)"),
  Flag.withDefault("muniment")
)

const url = optionalText(
  "url",
  "Where the service is; by default as MUNIMENT_URL, a profile, or MUNIMENT_DATA_DIR, MUNIMENT_HOST and MUNIMENT_PORT say"
)

const apiKey = optionalText(
  "api-key",
  "API key of the account; without it the wallet signs, and its own account is meant"
)

/** Flag of commands that need no wallet. */
const callerKey = optionalText(
  "api-key",
  "API key of the account, else MUNIMENT_API_KEY, which no process list shows, or the profile's"
)

const from = optionalText("from", "First day, YYYY-MM-DD, UTC; default the first of this month")

const to = optionalText("to", "Last day, YYYY-MM-DD, UTC; default today")

const csv = Flag.Boolean("csv").pipe(Flag.withDescription("Print CSV for spreadsheets"), Flag.withDefault(false))

export const flags = { account, plan, json, keyFile, service, url, apiKey, from, to, csv }

/** The service that is asked, and the credentials that it is asked with. */
export const callerFlags = { apiKey: callerKey, keyFile: Flag.optional(keyFile), url }

const day = (name: string, which: string) =>
  optionalText(name, `${which} day, YYYY-MM-DD, UTC; default all that is kept`)

/** Flags of commands that show a log. */
export const logFlags = {
  from: day("from", "First"),
  to: day("to", "Last"),
  limit: Flag.Int("limit").pipe(Flag.withDescription("Rows shown, 1 to 1,000"), Flag.withDefault(100))
}

type Given<A> = { readonly [Name in keyof A]?: A[Name] extends Option.Option<infer Value> ? Value : never }

/** The flags that were given, by the names of a request. */
export const whereGiven = <A extends Readonly<Record<string, Option.Option<unknown>>>>(values: A): Given<A> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (Option.isSome(value) ? [[name, value.value]] : []))
  ) as Given<A>
