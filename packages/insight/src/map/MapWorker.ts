/** Entry of the map's worker thread: one request, one map. It has no environment and keeps no state. */
import { drawMap } from "./DrawMap.ts"
import { type MapRequest, unpackRequest } from "./MapProtocol.ts"
import type { DrawnMap } from "./MemoryMap.ts"

const answer = (request: MapRequest): DrawnMap => drawMap(unpackRequest(request))

export default answer
