/** The model that tests embed with; without one they fail and say what to run, they do not skip. */
import { modelById, modelPreference } from "@muniment/models/ModelCatalog"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

export const realModelsDir =
  process.env["MUNIMENT_MODELS_DIR"] ?? fileURLToPath(new URL("../../../models", import.meta.url))

const found = modelPreference.find((id) => existsSync(`${realModelsDir}/${id}`))

/** The one that the service would choose as its default. */
export const realModel = modelById(found ?? modelPreference[0]!)!

export const requireRealModel = (): void => {
  if (found === undefined) {
    throw new Error(`These tests embed with a real model, and none is in ${realModelsDir}: run "npm run setup" first.`)
  }
}
