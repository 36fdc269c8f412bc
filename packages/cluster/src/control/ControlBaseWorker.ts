/** Entry of the thread that takes copies of `control.db` in use (`SharedControlLog.ts`); answers with their numbers. */
import { type ControlCopies, takeSnapshot } from "@muniment/control/database/check/ControlCopies"
import { serve, settingsOf } from "@muniment/worker/WorkerEntry"

const copies = settingsOf<ControlCopies>()
serve((): number => takeSnapshot(copies))
