/** All faults of the programme, in the order of its rounds. */
import { clockFaults } from "./clockFaults.ts"
import { databaseFaults } from "./databaseFaults.ts"
import { diskFaults } from "./diskFaults.ts"
import { doubleFaults } from "./doubleFaults.ts"
import type { Fault } from "./Fault.ts"
import { linkFaults } from "./linkFaults.ts"
import { processFaults } from "./processFaults.ts"
import { promotedStandby } from "./promotedStandby.ts"
import { rollingUpgrade } from "./rollingUpgrade.ts"
import { storeFaults } from "./storeFaults.ts"

export const faults: ReadonlyArray<Fault> = [
  ...processFaults,
  ...databaseFaults,
  promotedStandby,
  ...storeFaults,
  ...linkFaults,
  ...doubleFaults,
  ...clockFaults,
  ...diskFaults,
  rollingUpgrade
]
