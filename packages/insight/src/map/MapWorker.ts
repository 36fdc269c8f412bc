/** Entry of the map's worker thread: one request, one map. It has no environment and keeps no state. */
import { drawRead } from "./DrawMap.ts"
import { type MapRequest, unpackRequest } from "./MapProtocol.ts"
import type { DrawnMap } from "./MemoryMap.ts"

const answer = (request: MapRequest): DrawnMap => drawRead(unpackRequest(request))

export default answer
