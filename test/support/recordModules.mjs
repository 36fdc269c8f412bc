/** Loaded before a program (`--import`): writes the URLs of all modules that it loads to `RECORDED_MODULES`, at its end. */
import { writeFileSync } from "node:fs"
import { registerHooks } from "node:module"
import { isMainThread } from "node:worker_threads"

const urls = []
if (isMainThread) {
  registerHooks({
    load: (url, context, next) => {
      urls.push(url)
      return next(url, context)
    }
  })
  process.on("exit", () => writeFileSync(process.env.RECORDED_MODULES, urls.join("\n")))
}
