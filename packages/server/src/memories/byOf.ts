/** Who a version or feedback is by, as it is kept with it: the operator, a key or a wallet. */
import type { Identity } from "@muniment/domain/Identity"

export const byOf = ({ isOperator, keyId, walletAddress }: Identity): { readonly by?: string } => {
  const by = isOperator === true ? "operator" : (keyId ?? walletAddress)
  return by === undefined ? {} : { by }
}
