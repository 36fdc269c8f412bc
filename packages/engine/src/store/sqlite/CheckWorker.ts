/** Entry of the thread that reads files again (CheckThread.ts). Keeps nothing between requests. */
import { serve } from "@muniment/worker/WorkerEntry"
import { answerCheck } from "./FileCheck.ts"

serve(answerCheck)
