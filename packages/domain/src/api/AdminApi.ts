/**
 * Operator routes (contract: Operator routes): accounts, keys, wallets, export and import, state of the store. The command
 * line is their client; they answer on loopback, to the data directory's token.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Plan } from "../Account.ts"
import { keyScopeFields } from "../Identity.ts"
import { Conflict, InsufficientStorage, InvalidRequest, NotFound, Unavailable } from "../Errors.ts"
import { CalendarDay, DurationText } from "../GivenTimes.ts"
import { AgentId, PageCursor } from "../Ids.ts"
import { Limits } from "../Limits.ts"
import { ExportedMemory, Instructions, OnDuplicate, Remember } from "../Memory.ts"
import { MemorySchema } from "../MemorySchema.ts"
import { ClockStep, Series, SeriesWindow } from "../Operations.ts"
import { PaymentNetwork } from "../Payment.ts"
import { BodyLimit, operation, operatorGroup } from "./Middleware.ts"

const success = Schema.Literal(true)
/** Address of an EVM wallet, 0x and 40 hex digits, or of a Solana wallet, 32 bytes in Base58. */
export const WalletAddressText = Schema.NonEmptyString.check(
  Schema.isMaxCodePoints(Limits.identifierLengthMax)
).annotate({ format: "wallet-address" })

export const AccountName = Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.accountNameLengthMax)).annotate({
  examples: ["research"]
})

export const AccountRecord = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  plan: Plan,
  createdAt: Schema.Int,
  remember: Schema.optionalKey(Remember),
  instructions: Schema.optionalKey(Instructions),
  suspendedAt: Schema.optionalKey(Schema.Int)
})

/** A key without its secret. Times in milliseconds. */
export const KeyRecord = Schema.Struct({
  id: Schema.String,
  account: Schema.String,
  label: Schema.String,
  prefix: Schema.String,
  createdAt: Schema.Int,
  ...keyScopeFields,
  madeBy: Schema.optionalKey(Schema.String).annotate({
    description: "The key (id) or wallet (address) that made it. Missing: the operator."
  }),
  expiresAt: Schema.optionalKey(Schema.Int),
  lastUsedAt: Schema.optionalKey(Schema.Int),
  revokedAt: Schema.optionalKey(Schema.Int)
})
export type KeyRecord = typeof KeyRecord.Type

export const RevocationQuery = {
  keepMade: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "Keys that this one made stay. Default false: they are revoked with it, as are those that they made."
    })
  )
}
/** Result of a revocation; `alsoRevoked` holds ids. */
export const RevokedKey = Schema.Struct({
  success: Schema.Literal(true),
  key: KeyRecord,
  alsoRevoked: Schema.Array(Schema.String)
})

/** State of the embedding model, the index, the store and the disk, as `doctor` prints it. */
export const ServiceStatus = Schema.Struct({
  ready: Schema.Boolean,
  version: Schema.String,
  node: Schema.String,
  dataDirectory: Schema.String,
  embedding: Schema.Struct({
    model: Schema.NullOr(Schema.String),
    ready: Schema.Boolean,
    detail: Schema.String,
    pending: Schema.Int
  }),
  /** Who reads conversations: `rules`, or the name of the language model; how many wait. */
  extraction: Schema.Struct({
    reader: Schema.String,
    problem: Schema.NullOr(
      Schema.Struct({ message: Schema.String, remedy: Schema.String, since: Schema.Int })
    ).annotate({ description: "Why the language model gave no usable answer when it was asked last." }),
    pending: Schema.Int,
    oldestSeconds: Schema.Int.annotate({ description: "Age of the conversation that has been waiting longest." })
  }),
  index: Schema.Struct({ engine: Schema.String, isAvailable: Schema.Boolean, detail: Schema.String }),
  namespaces: Schema.Struct({ total: Schema.Int, open: Schema.Int }),
  quarantined: Schema.Array(Schema.Struct({ file: Schema.String, reason: Schema.String })),
  /** Networks that take payments; empty without deposits. */
  payments: Schema.Struct({
    oldestOpenSeconds: Schema.Int.annotate({ description: "Age of the oldest payment without an outcome; 0: none." }),
    networks: Schema.Array(
      Schema.Struct({
        network: PaymentNetwork,
        isReachable: Schema.Boolean.annotate({ description: "The node answers." }),
        isOffered: Schema.Boolean.annotate({
          description: "In demands: the node is not away for long, and the operator can pay the fees."
        }),
        nodes: Schema.Array(
          Schema.Struct({
            name: Schema.String.annotate({ description: "Host of its URL." }),
            isReachable: Schema.Boolean,
            block: Schema.NullOr(Schema.Int).annotate({
              description: "Height or slot of the newest block that it knows; null: it never answered."
            }),
            blocksBehind: Schema.Int.annotate({ description: "The node of the network that is furthest." }),
            isBehind: Schema.Boolean.annotate({ description: "Too far: it is asked only where no other answers." }),
            failures: Schema.Int.annotate({ description: "Calls that it did not answer since the start." })
          })
        ),
        problems: Schema.Array(
          Schema.Struct({
            question: Schema.Literals(["verify", "sign", "broadcast", "look"]),
            cause: Schema.String,
            since: Schema.Int
          })
        ).annotate({ description: "What its nodes do not do, since when, and what they said last." }),
        feeBalance: Schema.NullOr(Schema.Finite).annotate({
          description: "Of the operator's wallet, in ETH or SOL; null: not known, or a facilitator pays."
        }),
        booksUsd: Schema.Finite.annotate({ description: "USDC that the ledger has received on this network." }),
        payeeUsd: Schema.NullOr(Schema.Finite).annotate({ description: "USDC that the configured payee holds." })
      })
    )
  }),
  /** Messages about payments for the operator's webhook. */
  webhooks: Schema.Struct({
    isConfigured: Schema.Boolean,
    pending: Schema.Int,
    oldestSeconds: Schema.Int.annotate({ description: "Since the oldest pending one is tried; 0: none." }),
    failed: Schema.Int.annotate({ description: "Given up." })
  }),
  /** Webhooks of accounts. */
  hooks: Schema.Struct({
    active: Schema.Int,
    paused: Schema.Int,
    pending: Schema.Int.annotate({ description: "Messages of active webhooks that wait." }),
    oldestSeconds: Schema.Int.annotate({ description: "Since the oldest of them is tried; 0: none." }),
    failed: Schema.Int.annotate({ description: "Messages that were given up." })
  }),
  clockStep: Schema.NullOr(ClockStep).annotate({ description: "Not null: jobs wait until an operator confirms." }),
  backup: Schema.Struct({
    ageSeconds: Schema.NullOr(Schema.Int).annotate({
      description: "Since the start of the last complete backup; null: none is known."
    })
  }),
  commitLog: Schema.NullOr(
    Schema.Struct({
      segments: Schema.Int,
      bytes: Schema.Finite.annotate({ description: "Of the records; a segment's file has 2 MiB." }),
      firstOrdinal: Schema.Int,
      lastOrdinal: Schema.Int,
      syncs: Schema.Int.annotate({ description: "Since the log was opened." }),
      isCurrent: Schema.Boolean.annotate({
        description: "False: an error has ended it; the next write opens it anew."
      }),
      isFull: Schema.Boolean.annotate({
        description: "There is no room for another segment: only deletes are accepted."
      }),
      damage: Schema.Array(Schema.String).annotate({ description: "Records that were synced and cannot be read." })
    })
  ).annotate({ description: "Null: several machines share one, in PostgreSQL." }),
  control: Schema.Struct({
    behind: Schema.Int.annotate({ description: "Changes of control.db that the commit log has not synced." }),
    checkedSeconds: Schema.NullOr(Schema.Int).annotate({
      description: "Since the last check of control.db that found nothing; null: none since text was last erased."
    })
  }),
  scrub: Schema.Struct({
    ageSeconds: Schema.NullOr(Schema.Int).annotate({
      description: "Since the end of the last round that read every file; null: none has ended."
    }),
    isRunning: Schema.Boolean,
    files: Schema.Int.annotate({ description: "Read by the round under way, or by the last one." }),
    damaged: Schema.Array(
      Schema.Struct({ file: Schema.String, reason: Schema.String, isMended: Schema.Boolean })
    ).annotate({ description: "What that round has found; at most the last 100." })
  }),
  rounds: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      open: Schema.Int.annotate({ description: "How many there are, such as one for each open file." }),
      running: Schema.Int.annotate({ description: "At work now; the others wait." }),
      failures: Schema.Int.annotate({ description: "Since the start; each is a line of the log." }),
      isFailing: Schema.Boolean.annotate({ description: "The last attempt failed; the next one comes after a pause." }),
      lastFailure: Schema.NullOr(Schema.Struct({ at: Schema.Int, reason: Schema.String })).annotate({
        description: "Time in milliseconds; classes and codes of errors, and the line of the code."
      })
    })
  ).annotate({ description: "Background work." }),
  disk: Schema.Struct({ freeBytes: Schema.Finite, ballastBytes: Schema.Finite }),
  warnings: Schema.Array(Schema.String)
})
export type ServiceStatus = typeof ServiceStatus.Type

/**
 * Progress of re-embedding: memories whose vector is missing or of another model. Messages that were never stored, only
 * read for extraction, are in neither count.
 */
export const ReembedProgress = Schema.Struct({
  model: Schema.NullOr(Schema.String),
  pending: Schema.Int,
  total: Schema.Int
})

const Progress = Schema.Struct({ success, ...ReembedProgress.fields })

/** Estimate of a new reading of an account's stored conversations. */
export const RereadAccount = Schema.Struct({
  account: Schema.String,
  conversations: Schema.Int,
  messages: Schema.Int,
  calls: Schema.Int.annotate({ description: "Of the language model." }),
  inputTokens: Schema.Int.annotate({ description: "An estimate, rather high; so are the others." }),
  outputTokens: Schema.Int,
  usd: Schema.NullOr(Schema.Finite).annotate({ description: "By the configured prices; null: there are none." }),
  credits: Schema.NullOr(Schema.Finite).annotate({
    description: "That the account pays; null: tokens cost it nothing."
  }),
  days: Schema.Int.annotate({ description: "Until its budgets of the day have covered it." })
})
export type RereadAccount = typeof RereadAccount.Type

/** Memories of an agent, and the vector index of each embedding model that they have. */
export const AgentIndex = Schema.Struct({
  account: Schema.String,
  agentId: Schema.String,
  memories: Schema.NullOr(Schema.Int).annotate({ description: "Live ones; null while its file cannot be read." }),
  bytes: Schema.NullOr(Schema.Int).annotate({ description: "Of its memories; null: not counted since a kill." }),
  indexes: Schema.Array(
    Schema.Struct({
      model: Schema.String,
      vectors: Schema.Int,
      backlog: Schema.Int.annotate({ description: "Vectors that no list or graph holds yet; searches scan them." }),
      engine: Schema.Literals(["exact", "quantized", "hnsw"]).annotate({
        description: "Of a search without a filter, for ten hits."
      }),
      reason: Schema.String,
      recall: Schema.NullOr(Schema.Finite).annotate({
        description:
          "Share of the nearest vectors that it finds: 1 for scans; what the probes of lists are tuned to; null for graphs, which have no such setting."
      })
    })
  )
})
export type AgentIndex = typeof AgentIndex.Type

/** A wallet that opens an account; the address as it is kept. */
export const LinkedWallet = Schema.Struct({
  address: Schema.String,
  family: Schema.Literals(["evm", "sol"]),
  account: Schema.String
})

/** The key file as it is published from now on; times in milliseconds. */
const AttestationKeys = Schema.Struct({
  attestationPublicKey: Schema.String,
  algorithm: Schema.Literal("Ed25519"),
  issuedAt: Schema.Int,
  previousKeys: Schema.Array(
    Schema.Struct({
      publicKey: Schema.String,
      issuedAt: Schema.Int,
      retiredAt: Schema.Int.annotate({
        description: "It signed nothing from then on; what it signed before is valid."
      }),
      revokedAt: Schema.optionalKey(
        Schema.Int.annotate({ description: "The key is not to be trusted: nothing that it signed is valid." })
      )
    })
  )
})

const exportedExample: ExportedMemory = {
  id: "mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T",
  agentId: "assistant",
  kind: "factual_memory",
  data: { subject: "Alice", fact: "Alice lives in Seattle" },
  tags: [],
  mentions: [],
  confidence: 1,
  createdAt: 1_764_000_000_000,
  updatedAt: 1_764_000_000_000,
  origin: "direct"
}

export class AdminApi extends operatorGroup(
  HttpApiGroup.make("admin").add(
    HttpApiEndpoint.get("status", "/status", {
      success: Schema.Struct({ success, ...ServiceStatus.fields })
    }).annotateMerge(operation("State of the service", {})),
    HttpApiEndpoint.post("createAccount", "/accounts", {
      payload: Schema.Struct({
        name: AccountName,
        plan: Schema.optionalKey(Plan),
        id: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.identifierLengthMax)))
      }).annotate({ examples: [{ name: "research", plan: "pro" }] }),
      success: Schema.Struct({ success, account: AccountRecord }),
      error: [InvalidRequest, Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(operation("Create an account", {})),
    HttpApiEndpoint.get("listAccounts", "/accounts", {
      success: Schema.Struct({ success, accounts: Schema.Array(AccountRecord) })
    }).annotateMerge(operation("List accounts", {})),
    HttpApiEndpoint.post("setRemember", "/accounts/remember", {
      payload: Schema.Struct({ account: AccountName, remember: Schema.NullOr(Remember) }).annotate({
        examples: [{ account: "research", remember: "extracted" }]
      }),
      success: Schema.Struct({ success, account: AccountRecord }),
      error: [NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Choose what an account's conversations leave behind", {
        description: "Null: as the installation says. Acts on the next request; requests may say otherwise."
      })
    ),
    HttpApiEndpoint.post("setInstructions", "/accounts/instructions", {
      payload: Schema.Struct({ account: AccountName, instructions: Schema.NullOr(Instructions) }).annotate({
        examples: [{ account: "research", instructions: "Leave out what is said of health." }]
      }),
      success: Schema.Struct({ success, account: AccountRecord }),
      error: [NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Say what a model remembers of an account's conversations", {
        description: "Beside what the installation and each request say. Null: no more than these."
      })
    ),
    HttpApiEndpoint.post("createKey", "/keys", {
      payload: Schema.Struct({
        account: AccountName,
        plan: Schema.optionalKey(Plan),
        label: Schema.optionalKey(Schema.String.check(Schema.isMaxCodePoints(Limits.accountNameLengthMax))),
        ...keyScopeFields,
        expiresIn: Schema.optionalKey(DurationText)
      }).annotate({ examples: [{ account: "research", plan: "pro", label: "laptop" }] }),
      success: Schema.Struct({ success, key: KeyRecord, secret: Schema.String }),
      error: [InvalidRequest, Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Create a key", {
        description:
          "Creates the account if it does not exist. The secret is shown once. `readOnly`, `agents` and `subjects` bound what the key may do, `expiresIn` for how long."
      })
    ),
    HttpApiEndpoint.get("listKeys", "/keys", {
      query: { account: Schema.optionalKey(AccountName) },
      success: Schema.Struct({ success, keys: Schema.Array(KeyRecord) }),
      error: NotFound
    }).annotateMerge(operation("List keys", {})),
    HttpApiEndpoint.delete("revokeKey", "/keys/:id", {
      params: { id: Schema.String.annotate({ examples: ["key_01KAJ8Q0V7E5XK9D2M4N6P8R0T"] }) },
      query: RevocationQuery,
      success: RevokedKey,
      error: [NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(operation("Revoke a key", { description: "With the keys that it made, unless `keepMade`." })),
    HttpApiEndpoint.post("linkWallet", "/wallets", {
      payload: Schema.Struct({
        account: AccountName,
        address: WalletAddressText
      }).annotate({ examples: [{ account: "research", address: "0x1950290aa52781dd6c4255467bbbeb9f773c1936" }] }),
      success: Schema.Struct({ success, wallet: LinkedWallet }),
      error: [InvalidRequest, NotFound, Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Link a wallet to an account", {
        description: "Its signature opens that account from then on. A wallet opens one account, until it is unlinked."
      })
    ),
    HttpApiEndpoint.post("rotateAttestationKey", "/attestation-keys/rotate", {
      success: Schema.Struct({ success, ...AttestationKeys.fields }),
      error: [InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Sign attestations with a new key", {
        description: "The public half of the earlier key stays published, so that what it signed still verifies."
      })
    ),
    HttpApiEndpoint.get("listAttestationKeys", "/attestation-keys", {
      success: Schema.Struct({ success, ...AttestationKeys.fields })
    }).annotateMerge(operation("List the keys that sign attestations, and earlier ones", {})),
    HttpApiEndpoint.post("revokeAttestationKey", "/attestation-keys/revoke", {
      payload: Schema.Struct({
        publicKey: Schema.String.check(
          Schema.isPattern(/^0x[0-9a-f]{64}$/u, { expected: "`0x` and 64 hex digits in lower case" })
        ).annotate({
          description: "Of the key file: 0x and 64 hex digits in lower case."
        })
      }).annotate({ examples: [{ publicKey: `0x${"5a".repeat(32)}` }] }),
      success: Schema.Struct({ success, ...AttestationKeys.fields }),
      error: [NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Revoke a key that signed attestations", {
        description:
          "For a secret that others may know: nothing that the key signed verifies any more, whatever its date. The current key is replaced first."
      })
    ),
    HttpApiEndpoint.get("exportMemories", "/export", {
      query: { account: AccountName, cursor: Schema.optionalKey(PageCursor) },
      success: Schema.Struct({
        success,
        account: AccountRecord,
        schemas: Schema.Array(MemorySchema),
        records: Schema.Array(ExportedMemory),
        nextCursor: Schema.optionalKey(Schema.String),
        total: Schema.Int
      }),
      error: [InvalidRequest, NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("One page of an account's memories", {
        description: "All versions, oldest first within an agent; schemas come with the first page."
      })
    ),
    HttpApiEndpoint.post("importMemories", "/import", {
      payload: Schema.Struct({
        account: AccountName,
        schemas: Schema.optionalKey(Schema.Array(MemorySchema)),
        records: Schema.Array(ExportedMemory).check(Schema.isMaxLength(Limits.importBatchMax)),
        onDuplicate: Schema.optionalKey(
          OnDuplicate.annotate({
            description:
              "A record with another id whose data the latest memory of the same agent, subject and kind has already: `return` skips it, `store` (default) stores it."
          })
        )
      }).annotate({ examples: [{ account: "research", records: [exportedExample] }] }),
      success: Schema.Struct({ success, imported: Schema.Int, skipped: Schema.Int }),
      error: [InvalidRequest, NotFound, Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Import records, ids kept", {
        description: "A record whose id is already stored is skipped, so that an import can be repeated."
      })
    ),
    HttpApiEndpoint.get("listIndexes", "/indexes", {
      query: {
        account: Schema.optionalKey(AccountName),
        cursor: Schema.optionalKey(PageCursor),
        limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Limits.listPageMax })))
      },
      success: Schema.Struct({
        success,
        agents: Schema.Array(AgentIndex),
        nextCursor: Schema.optionalKey(Schema.String)
      }),
      error: [InvalidRequest, NotFound]
    }).annotateMerge(
      operation("Agents and their vector indexes", {
        description: "What each agent holds, the engine of its searches and why. Opens the files of the page."
      })
    ),
    HttpApiEndpoint.get("series", "/series", {
      query: {
        window: Schema.optionalKey(SeriesWindow.annotate({ description: "How far back. Default `hour`." })),
        points: Schema.optionalKey(
          Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Limits.seriesPointsMax })).annotate({
            description: `At most as many. Default ${Limits.seriesPointsDefault}.`
          })
        )
      },
      success: Schema.Struct({ success, ...Series.fields })
    }).annotateMerge(
      operation("Load, latency, errors, growth and money over time", {
        description:
          "The last hour by seconds since the start; 30 days by minutes, which survive a restart. Oldest first; a step in which the service did not run is missing. Of this process: another node of a cluster has its own."
      })
    ),
    HttpApiEndpoint.get("reembedProgress", "/reembed", { success: Progress }).annotateMerge(
      operation("Progress of re-embedding", {
        description:
          "Messages that were never stored, of conversations of which only extracted memories are kept, are in neither count; how many is not known."
      })
    ),
    HttpApiEndpoint.post("reembed", "/reembed", { success: Progress, error: Unavailable }).annotateMerge(
      operation("Re-embed what has no vector of the configured model", {
        description: "Starts in the background; resumable."
      })
    ),
    HttpApiEndpoint.post("reread", "/reread", {
      payload: Schema.Struct({
        account: Schema.optionalKey(AccountName),
        agentId: Schema.optionalKey(AgentId),
        since: Schema.optionalKey(
          CalendarDay.annotate({ description: "Messages that were said from that day on, UTC. Default: all." })
        ),
        dryRun: Schema.optionalKey(Schema.Boolean.annotate({ description: "Only say what it takes." }))
      }).annotate({ examples: [{ account: "research", since: "2026-01-01", dryRun: true }] }),
      success: Schema.Struct({
        success,
        model: Schema.String,
        accounts: Schema.Array(RereadAccount).annotate({
          description: "With something to read; the model reads for them."
        }),
        days: Schema.Int.annotate({ description: "Until the budgets of the day have covered all." })
      }),
      error: [NotFound, Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Read stored conversations again with the language model", {
        description:
          "Queues what it has not read, for the background, oldest first; what is queued or was read is not queued again. Without a charge for the call; tokens as usual. 409 `no_language_model` without a model."
      })
    )
  )
).middleware(BodyLimit) {}
