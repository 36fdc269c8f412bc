/** Entry of the map's thread: one request in, one map out. No environment, no files, no state. */
import { serve } from "@muniment/worker/WorkerEntry"
import { drawRead } from "./DrawMap.ts"
import { type DrawnMap, type MapRequest, unpackRequest } from "./MapProtocol.ts"

serve<MapRequest, DrawnMap>((request) => drawRead(unpackRequest(request)))
