/** The writes of the cluster's benches: one memory each, of agents whose namespaces are spread over the nodes. */
import type { NodeProcess } from "../../scripts/cluster/ClusterProcesses.ts"

const key = "mun_key_of_the_bench_0123456789abcdef"
const agents = 24

/** Of the nodes. */
export const environment = {
  MUNIMENT_BOOTSTRAP_KEY: key,
  MUNIMENT_EMBEDDING_MODEL: "none",
  MUNIMENT_RATE_LIMITS: "off",
  // What is measured is not how long a call waits for processor time.
  MUNIMENT_QUEUE_WAIT_MILLIS: "60000",
  MUNIMENT_MONTHLY_ALLOWANCE: "1000000"
}

/** One attempt at a node; the same number is the same write, under the same key. */
export const attemptWrite = ({ url }: NodeProcess, number: number): Promise<Response> =>
  fetch(`${url}/v1/memories`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": `write ${number}`
    },
    body: JSON.stringify({
      agentId: `agent-${number % agents}`,
      memories: [{ kind: "factual_memory", data: { subject: "bench", fact: `fact ${number} of the bench` } }]
    })
  })
