/**
 * Every bound of the service, named once; those that callers meet are listed in the contract (contract: Limits).
 * Sizes are bytes, durations milliseconds unless the name says otherwise. Relations between bounds
 * are asserted when this module loads: a careless edit stops the process at its start.
 */
export const Limits = {
  requestBodyBytesMax: 1_048_576,
  jsonDepthMax: 64,
  headerTimeoutMillis: 5_000,
  requestTimeoutMillis: 15_000,
  connectionsPerAddressMax: 1_024,
  shutdownDrainMillis: 20_000,

  errorDetailsMax: 20,
  ignoredFieldsListedMax: 32,
  unknownNamesMax: 1_000,
  listItemsCheckedMax: 1_000,
  identifierLengthMax: 128,
  tagLengthMax: 32,
  tagsPerMemoryMax: 32,
  memoryDataBytesMax: 65_536,
  memoryDataDepthMax: 16,
  memoriesPerRequestMax: 100,
  messagesPerConversationMax: 200,
  messageLengthMax: 32_000,
  searchedMessageLengthMax: 30_000,
  passageLengthMax: 800,
  neighbourMessagesEachSide: 2,
  neighbourMessageLengthMax: 400,
  candidatesPerConversationMax: 500,
  contextMessageLengthMax: 2_000,
  durationDaysMax: 3_650,
  extractionDeadlineMillis: 8_000,
  extractionWaitMillis: 50,
  conversationContextMax: 20,
  neighboursPerMemoryMax: 8,
  neighbourTextLengthMax: 500,

  schemaNameLengthMax: 64,
  schemaDescriptionLengthMax: 4_096,
  schemaTextBytesMax: 65_536,
  schemasPerAccountMax: 200,
  uniqueFieldsMax: 16,

  queryLengthMax: 2_000,
  searchResultsDefault: 10,
  searchResultsMax: 100,
  mapMemoriesDefault: 50,
  mapMemoriesMax: 5_000,
  answerEvidenceDefault: 20,
  answerHitsMax: 5,
  batchQueriesMax: 10,
  batchIdsMax: 100,
  listPageDefault: 50,
  listPageMax: 100,
  searchCandidatesMax: 100,
  explainedNamespacesMax: 100,
  tagFiltersMax: 32,

  idempotencyKeyLengthMax: 128,
  idempotencyRetentionMillis: 86_400_000,

  mailboxCapacity: 256,
  commitBatchMax: 64,
  changesPerCommitMax: 100,
  smallCommitChangesMax: 32,
  removalsPerCommitMax: 100,
  openNamespacesMax: 1_024,
  namespaceIdleMillis: 300_000,
  namespaceFanOutMax: 16,
  expirySweepMillis: 60_000,
  indexSliceMillis: 2,
  embedBackfillBatch: 32,
  vectorWaitMillis: 50,
  vectorWaitTextsMax: 4,
  filesystemBallastBytes: 8_388_608,

  depositCentsMin: 10,
  depositCentsMax: 100_000,
  paymentHeaderBytesMax: 16_384,
  paymentTimeoutSeconds: 60,
  paymentSpareSeconds: 6,
  paymentRetrySeconds: 5,
  settlementWaitMillis: 10_000,
  settlementPollMillis: 250,
  reconcileEveryMillis: 15_000,
  paymentsInFlightMax: 64,
  chainCallTimeoutMillis: 5_000,

  ledgerFlushMillis: 250,
  ledgerFlushBatch: 1_000,
  ledgerPendingMax: 20_000,
  reservationRetentionMillis: 86_400_000,
  transactionsPageDefault: 50,
  transactionsPageMax: 100,
  rateLimitedCallersMax: 50_000,
  signUpsPerClientHour: 20,
  signUpsPerHour: 500,
  wrongSignaturesPerMinute: 120,
  signaturesUnderWayOfClientMax: 256,
  jobAccountsConcurrent: 4,
  jobCatchUpDaysMax: 31,

  keysPerAccountMax: 1_000,
  accountNameLengthMax: 64,
  importBatchMax: 100
} as const

const relations: ReadonlyArray<readonly [string, boolean]> = [
  ["a full batch of candidates serves the largest page", Limits.searchCandidatesMax >= Limits.searchResultsMax],
  ["a commit batch fits the mailbox", Limits.commitBatchMax <= Limits.mailboxCapacity],
  ["a full commit is not a small one", Limits.smallCommitChangesMax < Limits.changesPerCommitMax],
  ["memory data fits the request body", Limits.memoryDataBytesMax < Limits.requestBodyBytesMax],
  ["memory data nests less deeply than the request", Limits.memoryDataDepthMax < Limits.jsonDepthMax],
  ["a schema fits the request body", Limits.schemaTextBytesMax < Limits.requestBodyBytesMax],
  ["a fan-out fits the open namespaces", Limits.namespaceFanOutMax <= Limits.openNamespacesMax],
  ["a flush of the ledger fits its queue", Limits.ledgerFlushBatch <= Limits.ledgerPendingMax],
  [
    "a repeated write finds its reservation as long as its answer",
    Limits.reservationRetentionMillis >= Limits.idempotencyRetentionMillis
  ],
  ["a payment outlives the spare time that settling wants", Limits.paymentTimeoutSeconds > Limits.paymentSpareSeconds],
  [
    "a short wait for a reading ends before its deadline",
    Limits.extractionWaitMillis < Limits.extractionDeadlineMillis
  ],
  ["lists are checked for names to their end", Limits.listItemsCheckedMax >= Limits.messagesPerConversationMax],
  ["a message may have several passages", Limits.passageLengthMax < Limits.searchedMessageLengthMax],
  ["a message with neighbours is one passage", Limits.neighbourMessageLengthMax <= Limits.passageLengthMax],
  ["one client cannot use up all sign-ups", Limits.signUpsPerClientHour < Limits.signUpsPerHour],
  ["headers arrive before the request ends", Limits.headerTimeoutMillis < Limits.requestTimeoutMillis]
]
for (const [claim, holds] of relations) {
  if (!holds) throw new Error(`Limits contradict each other: ${claim}`)
}
