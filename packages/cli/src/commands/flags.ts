/** Flags that several commands share, so that they are spelled and explained the same way. */
import * as Flag from "effect/cli/Flag"
import { Plan } from "@muniment/domain/Account"

export const account = Flag.String("account").pipe(Flag.withAlias("a"), Flag.withDescription("Name of the account"))

export const plan = Flag.Literals("plan", Plan.literals).pipe(
  Flag.withDescription("Plan of a new account"),
  Flag.optional
)

export const json = Flag.Boolean("json").pipe(Flag.withDescription("Print JSON for programs"), Flag.withDefault(false))

export const keyFile = Flag.String("key-file").pipe(
  Flag.withAlias("k"),
  Flag.withDescription("File with the wallet's key: EVM hex, Solana base58 or JSON list; never printed")
)

export const service = Flag.String("service").pipe(
  Flag.withDescription("Name of the service that the grant is for (MUNIMENT_SERVICE_NAME)"),
  Flag.withDefault("muniment")
)

export const url = Flag.String("url").pipe(
  Flag.withDescription("Where the service is"),
  Flag.withDefault("http://127.0.0.1:8787")
)

export const apiKey = Flag.String("api-key").pipe(
  Flag.withDescription("API key of the account; without it the wallet signs, and its own account is meant"),
  Flag.optional
)
