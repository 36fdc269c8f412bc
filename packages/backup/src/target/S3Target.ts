/**
 * A backup in a bucket of S3 or of a store that speaks its protocol. Requests are signed by `aws4fetch` with the digest
 * of the body; the bucket is part of the path, which every such store takes.
 *
 * A refusal for load (429, 5xx) and a lost connection are repeated; each answer has a deadline. Bodies are bounded by
 * the parts of the backup (`BackupStore.ts`), so a repeated request costs one part.
 */
import { createHash } from "node:crypto"
import { AwsClient } from "aws4fetch"
import { Effect, Schedule } from "effect"
import { type BackupTarget, TargetFailed } from "../BackupStore.ts"

interface S3Settings {
  readonly bucket: string
  /** Without slashes at its ends; may be empty. */
  readonly prefix: string
  /** Origin of the store; undefined: Amazon's of the region. */
  readonly endpoint: string | undefined
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | undefined
}

/** For one part of 8 MiB: 70 KB/s at least. */
const requestMillisMax = 120_000
const repeatsMax = 6
const firstPauseMillis = 200

export const s3Target = (settings: S3Settings): BackupTarget => {
  const { accessKeyId, bucket, prefix, region, secretAccessKey, sessionToken } = settings
  const description = `s3://${[bucket, prefix].filter((part) => part !== "").join("/")}`
  const origin = settings.endpoint ?? `https://s3.${region}.amazonaws.com`
  const client = new AwsClient({
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    service: "s3",
    region,
    // Repeated below, because the client does not repeat after a lost connection.
    retries: 0
  })
  const keyOf = (name: string): string => [prefix, name].filter((part) => part !== "").join("/")
  const call = (method: string, name: string, path: string, body?: Uint8Array) =>
    Effect.tryPromise({
      try: (signal) => answerOf(client, `${origin}/${bucket}${path}`, { method, signal }, body),
      catch: (cause) => new RequestFailed(causeText(cause), true)
    }).pipe(
      Effect.timeoutOrElse({
        duration: requestMillisMax,
        orElse: () => Effect.fail(new RequestFailed("no answer", true))
      }),
      Effect.filterOrFail(
        ({ status }) => status < 300 || (status === 404 && method !== "PUT"),
        ({ bytes, status }) => new RequestFailed(refusalText(status, bytes), status === 429 || status >= 500)
      ),
      Effect.retry({
        schedule: Schedule.exponential(firstPauseMillis),
        times: repeatsMax,
        while: ({ isPassing }) => isPassing
      }),
      Effect.mapError(({ reason }) => new TargetFailed({ target: description, object: name, reason }))
    )
  const listPage = (prefixOfNames: string, token: string | undefined) => {
    const query = new URLSearchParams({ "list-type": "2", prefix: keyOf(prefixOfNames) })
    if (token !== undefined) query.set("continuation-token", token)
    return Effect.flatMap(call("GET", prefixOfNames, `?${query.toString()}`), ({ bytes, status }) =>
      status === 404
        ? Effect.fail(new TargetFailed({ target: description, object: "", reason: "there is no such bucket" }))
        : Effect.succeed(pageOf(textOf(bytes)))
    )
  }
  return {
    description,
    isShared: true,
    put: (name, bytes) => Effect.asVoid(call("PUT", name, `/${keyOf(name)}`, bytes)),
    get: (name) =>
      Effect.map(call("GET", name, `/${keyOf(name)}`), ({ bytes, status }) => (status === 404 ? undefined : bytes)),
    list: Effect.fnUntraced(function* (prefixOfNames) {
      const keys: Array<string> = []
      let token: string | undefined
      do {
        const page = yield* listPage(prefixOfNames, token)
        keys.push(...page.keys)
        token = page.next
      } while (token !== undefined)
      const before = keyOf("").length === 0 ? 0 : prefix.length + 1
      return keys.map((key) => key.slice(before)).toSorted()
    }),
    remove: (name) => Effect.asVoid(call("DELETE", name, `/${keyOf(name)}`))
  }
}

class RequestFailed {
  readonly reason: string
  /** The same request may succeed a little later. */
  readonly isPassing: boolean

  constructor(reason: string, isPassing: boolean) {
    this.reason = reason
    this.isPassing = isPassing
  }
}

interface Answer {
  readonly status: number
  readonly bytes: Uint8Array
}

const answerOf = async (
  client: AwsClient,
  url: string,
  init: { readonly method: string; readonly signal: AbortSignal },
  body: Uint8Array | undefined
): Promise<Answer> => {
  const digest = createHash("sha256")
    .update(body ?? "")
    .digest("hex")
  const response = await client.fetch(url, {
    ...init,
    headers: { "x-amz-content-sha256": digest },
    ...(body !== undefined && { body: new Uint8Array(body) })
  })
  return { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) }
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** Keys of a page of `ListObjectsV2`. Our names have no character that XML would escape. */
const pageOf = (xml: string): { readonly keys: ReadonlyArray<string>; readonly next: string | undefined } => ({
  keys: [...xml.matchAll(/<Key>([^<]+)<\/Key>/g)].map((found) => found[1]!),
  next: /<NextContinuationToken>([^<]+)<\/NextContinuationToken>/.exec(xml)?.[1]
})

const refusalText = (status: number, bytes: Uint8Array): string => {
  const text = textOf(bytes)
  const code = /<Code>([^<]+)<\/Code>/.exec(text)?.[1]
  const message = /<Message>([^<]+)<\/Message>/.exec(text)?.[1]
  return [`${status}${code === undefined ? "" : ` ${code}`}`, ...(message === undefined ? [] : [message])].join(": ")
}

/** `fetch failed` says nothing; its cause does. */
const causeText = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  const below = cause.cause
  return below instanceof Error && below.message !== "" ? below.message : cause.message
}
