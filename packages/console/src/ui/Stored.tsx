/** A page that shows nothing until something is stored: until then the one way to begin. */
import type { ComponentChildren } from "preact"
import { useLoad } from "../service/load.ts"
import { pageOf } from "../service/knowledge.ts"
import { otherAccounts } from "../service/session.ts"
import { Empty } from "./Notice.tsx"

/** `children` while the number of memories is not known, or cannot be. */
export const Stored = ({ children }: { readonly children: ComponentChildren }) => {
  const { loaded } = useLoad((signal) => pageOf({ limit: 1 }, signal), [])
  return loaded.value?.total === 0 ? (
    <section class="card">
      <NothingStored />
    </section>
  ) : (
    <>{children}</>
  )
}

export const NothingStored = () => (
  <Empty title="Nothing is stored yet">
    <p>
      This account has stored nothing yet: <code>POST /v1/memories</code> stores the first memory, and{" "}
      <a href="/docs">API and handbook</a> show how. {otherAccounts()}
    </p>
  </Empty>
)
