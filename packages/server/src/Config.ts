/**
 * Configuration, from environment variables only, prefix `MUNIMENT_` (architecture.md). This module
 * alone reads the environment; the README lists every name with its default. Secrets are redacted.
 */
import { resolve } from "node:path"
import { Config } from "effect"
import { indexPins } from "@muniment/engine/index/Planner"
import { modelIds } from "@muniment/models/ModelCatalog"

export const ServerConfig = Config.all({
  host: Config.String("MUNIMENT_HOST").pipe(Config.withDefault("127.0.0.1")),
  port: Config.Port("MUNIMENT_PORT").pipe(Config.withDefault(8787)),
  dataDirectory: Config.String("MUNIMENT_DATA_DIR").pipe(
    Config.withDefault("./data"),
    Config.map((path) => resolve(path))
  ),
  /** First key of the operator's account, instead of a generated one. */
  bootstrapKey: Config.Redacted("MUNIMENT_BOOTSTRAP_KEY").pipe(Config.option),
  /** Token of the operator routes, instead of a generated one. */
  operatorToken: Config.Redacted("MUNIMENT_OPERATOR_TOKEN").pipe(Config.option),
  serviceName: Config.String("MUNIMENT_SERVICE_NAME").pipe(Config.withDefault("muniment")),
  apiKeyPrefix: Config.String("MUNIMENT_API_KEY_PREFIX").pipe(Config.withDefault("mun_")),
  /** `auto` takes the best model that is there; `none` searches by words alone. */
  embeddingModel: Config.Literals(["auto", "none", ...modelIds], "MUNIMENT_EMBEDDING_MODEL").pipe(
    Config.withDefault("auto")
  ),
  modelsDirectory: Config.String("MUNIMENT_MODELS_DIR").pipe(
    Config.withDefault("./models"),
    Config.map((path) => resolve(path))
  ),
  index: Config.Literals(indexPins, "MUNIMENT_INDEX").pipe(Config.withDefault("auto")),
  logLevel: Config.Literals(["Debug", "Info", "Warn", "Error"], "MUNIMENT_LOG_LEVEL").pipe(Config.withDefault("Info")),
  openNamespacesMax: Config.Int("MUNIMENT_OPEN_NAMESPACES").pipe(Config.withDefault(1_024))
})

export type ServerConfig = Config.Success<typeof ServerConfig>
