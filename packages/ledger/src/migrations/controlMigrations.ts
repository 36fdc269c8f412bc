/** All versions of `control.db`, oldest first. */
import type { Migration } from "@muniment/sqlite/Migrate"
import { initial } from "./0001_initial.ts"
import { wallets } from "./0002_wallets.ts"

export const controlMigrations: ReadonlyArray<Migration> = [initial, wallets]
