/** The model that tests embed with; without it they fail and say what to run, they do not skip. */
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

export const realModelId = "all-minilm-l6-v2-q8"

export const realModelsDir =
  process.env["MUNIMENT_MODELS_DIR"] ?? fileURLToPath(new URL("../../../models", import.meta.url))

export const requireRealModel = (): void => {
  if (!existsSync(`${realModelsDir}/${realModelId}`)) {
    throw new Error(
      `These tests embed with ${realModelId}, which is not in ${realModelsDir}: run "npm run setup" first.`
    )
  }
}
