/**
 * Version 4 of `control.db`: what language models used, by account and UTC day (`YYYY-MM-DD`). Costs are
 * millionths of a US dollar. A released migration never changes again.
 */
import type { Migration } from "@muniment/sqlite/Migrate"

export const modelUsage: Migration = {
  version: 4,
  name: "model usage",
  up: (database) => database.exec(table)
}

const table = `
  CREATE TABLE model_usage (
    account TEXT NOT NULL,
    day TEXT NOT NULL,
    input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
    output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
    cost_micro_usd INTEGER NOT NULL CHECK (cost_micro_usd >= 0),
    PRIMARY KEY (account, day)
  ) STRICT;
  CREATE INDEX model_usage_day ON model_usage(day);
`
