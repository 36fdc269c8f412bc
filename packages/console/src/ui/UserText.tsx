/** Words of users in a line of ours: in their own direction, which ends with them, and with signs that turn it seen. */
import { seen } from "../service/words.ts"

export const UserText = ({ of: text }: { readonly of: string | undefined }) =>
  text === undefined || text === "" ? null : <bdi>{seen(text)}</bdi>
