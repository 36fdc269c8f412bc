/** Entry of the thread that reads files again (CheckThread.ts). Keeps only segments of the log open between requests. */
import { serve, settingsOf } from "@muniment/worker/WorkerEntry"
import { RecordReader } from "../../log/RecordReader.ts"
import type { CheckThreadSettings } from "./CheckThread.ts"
import { answerCheck } from "./FileCheck.ts"

const { logDirectory } = settingsOf<CheckThreadSettings>()
const reader = logDirectory === undefined ? undefined : new RecordReader(logDirectory)

serve((request: Parameters<typeof answerCheck>[0]) => answerCheck(request, reader))
