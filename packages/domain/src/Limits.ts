/**
 * Bounds that callers or several modules share, named once; one of a single module stands in it; those that callers meet are listed in the contract (contract: Limits).
 * Sizes are bytes, durations milliseconds unless the name says otherwise. Relations between bounds
 * are asserted when this module loads: a careless edit stops the process at its start.
 */
export const Limits = {
  requestBodyBytesMax: 1_048_576,
  /** Request line and headers. */
  headerBytesMax: 65_536,
  jsonDepthMax: 64,
  /** An object of 80,000 keys held the loop for 224 ms of processor time, 200,000 empty arrays for 112. */
  jsonObjectKeysMax: 4_096,
  jsonValuesMax: 32_768,
  headerTimeoutMillis: 5_000,
  requestTimeoutMillis: 15_000,
  /** Announced; common proxies keep connections for up to two minutes. */
  connectionIdleMillis: 125_000,
  /** Beyond what is announced, for a client that sends its next request at the last moment. */
  connectionIdleSpareMillis: 10_000,
  connectionsPerAddressMax: 1_024,
  connectionBacklog: 4_096,
  queueWaitMillis: 1_000,
  queueWaitMillisMax: 1_500,
  workMin: 2,
  workMax: 64,
  smallBodyBytesMax: 16_384,
  smallBodiesBytesMax: 16_777_216,
  accountBodiesBytesMax: 2_097_152,
  accountBodiesWithRestBytesMax: 3_145_728,
  bodiesBytesMax: 4_194_304,
  bodyRestMillisMax: 1_000,
  crowdedBodyRestMillis: 5_000,
  slowBodyMillis: 3_000,
  accountAnswersBytesMax: 16_777_216,
  answersBytesMax: 67_108_864,
  answerMillisMax: 60_000,
  pipelinedRequestsMax: 16,
  refusalLinesMax: 20,
  shutdownDrainMillis: 20_000,
  lastArrivalsMillis: 1_000,

  errorDetailsMax: 20,
  ignoredFieldsListedMax: 32,
  unknownNamesMax: 1_000,
  listItemsCheckedMax: 1_000,
  identifierLengthMax: 128,
  tagLengthMax: 32,
  tagsPerMemoryMax: 32,
  memoryDataBytesMax: 65_536,
  memoryDataDepthMax: 16,
  memoryOverheadBytes: 1_024,
  memoriesPerRequestMax: 100,
  messagesPerConversationMax: 200,
  messageLengthMax: 32_000,
  searchedMessageLengthMax: 30_000,
  passageLengthMax: 800,
  /** Characters of the data of a memory that a tool of MCP answers. */
  shortDataLengthMax: 4_000,
  neighbourMessagesEachSide: 2,
  neighbourMessageLengthMax: 400,
  candidatesPerConversationMax: 500,
  contextMessageLengthMax: 2_000,
  durationDaysMax: 3_650,
  attestationDaysMax: 365,
  /** How far ahead a memory, or a grant, may end. */
  expiryYearsMax: 100,
  /** Characters of what a request, an account or the installation wants remembered and left out. */
  instructionsLengthMax: 2_000,
  /** Years of the times that requests name: numbers since the epoch, and texts. */
  epochYearMin: 1990,
  momentYearMin: 1900,
  momentYearMax: 2200,
  extractionDeadlineMillis: 8_000,
  extractionWaitMillis: 50,
  extractionPatienceMillis: 1_000,
  conversationContextMax: 20,
  neighboursPerMemoryMax: 8,
  neighbourTextLengthMax: 500,

  schemaNameLengthMax: 64,
  schemaDescriptionLengthMax: 4_096,
  schemaTextBytesMax: 65_536,
  schemasPerAccountMax: 200,
  /** Schemas within the schema of a tool's arguments, with references written out; their nesting, listed values. */
  toolSchemaNodesMax: 512,
  toolSchemaDepthMax: 8,
  toolSchemaValuesMax: 100,
  uniqueFieldsMax: 16,

  queryLengthMax: 2_000,
  searchResultsDefault: 10,
  searchResultsMax: 100,
  mapMemoriesDefault: 50,
  mapMemoriesMax: 5_000,
  answerEvidenceDefault: 30,
  answerHitsMax: 5,
  batchQueriesMax: 10,
  batchIdsMax: 100,
  contextTokensDefault: 1_500,
  contextTokensMin: 100,
  contextTokensMax: 16_000,
  /** Hits of the one search of a context. */
  contextHits: 50,
  /** Share of a context's tokens, at most, for all that does not depend on the query. */
  contextProfilePercentMax: 25,
  /** A fact that replaced another one less than this ago is a change. */
  contextChangeDays: 30,
  /** Memories of a subject that a profile, and the profile of a context, are made of: the newest. */
  profileMemoriesMax: 500,
  contextFactsMax: 100,
  listPageDefault: 50,
  listPageMax: 100,
  /** First memories that a page of a list may leave out: from both ends each row of twice as many is in reach. */
  listSkipMax: 10_000,
  historyVersionsMax: 100,
  facetValuesDefault: 50,
  facetValuesMax: 1_000,
  searchCandidatesMax: 100,
  /** Turns before a message that was found, and after it, in the same hit. */
  turnsAroundMax: 5,
  /** Vectors that a search with strict recall looks at one by one; with more it is not certified. */
  strictScanMax: 100_000,
  strictHitsMax: 1_000,
  /** Hits that a re-ranking model (`MUNIMENT_RERANKER`) puts in order, characters of each, and how long it is waited for. */
  rerankedHitsMax: 50,
  rerankedTextLengthMax: 2_000,
  rerankMillisMax: 3_000,
  /** Hits that the language model puts in order (`rerank=model`). */
  modelRankedHitsMax: 30,
  explainedNamespacesMax: 100,
  tagFiltersMax: 32,
  dataFieldsMax: 8,
  /** A condition: `and`, `or` and `not` inside each other, tests and their values in all, names of a path. */
  whereDepthMax: 5,
  whereTestsMax: 32,
  whereValuesMax: 256,
  wherePathMax: 8,
  metadataBytesMax: 4_096,
  metadataDepthMax: 5,
  /** Queries on which one memory has feedback. */
  feedbackPerMemoryMax: 32,
  dataPageMemories: 256,
  dataSlotsPerTurn: 4_096,
  dataTextRowsMin: 128,
  dataMatchesKept: 8,

  idempotencyKeyLengthMax: 128,
  idempotencyRetentionMillis: 86_400_000,
  keptAnswersBytesMax: 33_554_432,

  mailboxCapacity: 256,
  commitBatchMax: 64,
  changesPerCommitMax: 100,
  removalsPerCommitMax: 100,
  openNamespacesMax: 1_024,
  namespaceIdleMillis: 300_000,
  namespaceFanOutMax: 16,
  /** Per namespace: keys bound to subjects whose count of its memories is kept. */
  countedPartsMax: 16,
  expirySweepMillis: 60_000,
  indexSliceMillis: 2,
  embedBackfillBatch: 64,
  vectorWaitMillis: 50,
  vectorWaitTextsMax: 4,
  filesystemBallastBytes: 6_291_456,
  /** Percent of all agents: with more of them set aside the service is not ready. */
  setAsidePercentMax: 25,

  depositCentsMin: 10,
  depositCentsMax: 100_000,
  paymentHeaderBytesMax: 16_384,
  paymentTimeoutSeconds: 60,
  paymentSpareSeconds: 6,
  paymentRetrySeconds: 5,
  settlementWaitMillis: 10_000,
  settlementPollMillis: 250,
  reconcileEveryMillis: 15_000,
  paymentsPerNetworkMax: 64,
  paymentsPerAccountMax: 16,
  revertsPerPayerDay: 3,
  revertsPerAccountDay: 10,
  chainCallTimeoutMillis: 5_000,
  networkWatchMillis: 60_000,
  networkRetryMillis: 5_000,
  networkAwayMillis: 60_000,

  /** Operators that work at the same time, beside the first. */
  operatorsMax: 100,
  operatorNameLengthMax: 64,
  consoleLinkMillis: 600_000,
  consoleLinksMax: 16,
  /** Sign-ins by OpenID Connect that were begun, and the wait for the provider. */
  openIdSignInsMax: 256,
  openIdTimeoutMillis: 10_000,
  consoleSessionMillis: 43_200_000,
  consoleSessionsPerHolderMax: 16,
  consoleSessionsMax: 1_024,
  consoleSecretLengthMax: 256,
  consoleBrowserLengthMax: 256,
  requestRecordsMax: 10_000,
  requestRowsMax: 500_000,
  requestsPendingMax: 20_000,
  requestsSliceMax: 500,
  requestFlushMillis: 2_000,
  handbookMatchesMax: 20,
  handbookQuestionLengthMax: 200,
  seriesSecondsKept: 3_600,
  seriesMinutesKept: 43_200,
  seriesPointsDefault: 360,
  seriesPointsMax: 3_600,

  eventsKeptMillis: 604_800_000,
  eventChangesKept: 50_000,
  eventsPageDefault: 100,
  eventsPageMax: 500,
  eventAgentsMax: 100,
  eventStreamsPerAccount: 16,
  eventStreamsMax: 512,
  eventGatherMillis: 50,
  eventHeartbeatMillis: 10_000,
  eventRetryMillis: 1_000,

  webhookTimeoutMillis: 10_000,
  webhookPollMillis: 1_000,
  webhookRetryMillisMin: 5_000,
  webhookRetryMillisMax: 21_600_000,
  webhookGiveUpMillis: 259_200_000,
  webhookRetentionMillis: 2_592_000_000,

  hooksPerAccountMax: 10,
  hookUrlLengthMax: 2_000,
  hookAgentsMax: 1_000,
  hookSecretOverlapMillis: 86_400_000,
  hookPendingMax: 1_000,
  hookFailedMax: 1_000,
  hookDeliveredKept: 200,
  hookDeliveriesMax: 1_000,
  hookRetryMillisMax: 900_000,
  hookGiveUpMillis: 86_400_000,
  hookRefreshMillis: 10_000,
  /** Webhooks of accounts that are worked on at once, messages of one in a turn, and of how many agents at once. */
  hooksAtWorkMax: 16,
  hookRoundMessages: 128,
  hookAgentsAtOnce: 4,
  /** Turns of one webhook before others come. */
  hookTurnsMax: 8,

  ledgerFlushMillis: 1_000,
  ledgerFlushBatch: 1_000,
  ledgerPendingMax: 20_000,
  /** Times that a node has lost `control.db` with charges unwritten, and the database of the cluster has not heard it. */
  leftTextsMax: 64,
  reservationRetentionMillis: 86_400_000,
  transactionsPageDefault: 50,
  transactionsPageMax: 100,
  statementPageMax: 1_000,
  agentCostsDefault: 100,
  agentCostsMax: 1_000,
  rateLimitedCallersMax: 50_000,
  signUpsPerClientHour: 20,
  signUpsPerHour: 500,
  signatureWindowMillis: 120_000,
  wrongSignaturesPerMinute: 120,
  signaturesUnderWayOfClientMax: 256,
  contractRefusalsPerMinute: 30,
  jobAccountsConcurrent: 4,
  jobCatchUpDaysMax: 31,
  clockSeenMillis: 1_800_000,
  /** Pauses of background work that fails, each twice the one before. */
  roundRetryMillisMin: 1_000,
  roundRetryMillisMax: 300_000,
  /** Time in which background work that runs when the service stops may end, all of it together. */
  roundStopMillisMax: 1_000,

  keysPerAccountMax: 1_000,
  /** Keys whose callers are kept in memory: some 500 bytes each. */
  keysKnownMax: 4_096,
  /** Memories that are kept in memory as they were read last, and the longest text of one. */
  recordsKnownMax: 2_048,
  knownRecordLengthMax: 2_048,
  /** Accounts whose row, and whose counts, are kept in memory. */
  accountsKnownMax: 4_096,
  keyBindingsMax: 100,
  accountNameLengthMax: 64,
  importBatchMax: 100,
  importElementCharactersMax: 67_108_864
} as const

/** A character beyond the first plane, as a URL escapes it. */
const escapedCharacterBytesMax = 12

const relations: ReadonlyArray<readonly [string, boolean]> = [
  ["a full batch of candidates serves the largest page", Limits.searchCandidatesMax >= Limits.searchResultsMax],
  [
    "the longest query, the longest identifiers and a payment fit the headers",
    (Limits.queryLengthMax + 4 * Limits.identifierLengthMax) * escapedCharacterBytesMax + Limits.paymentHeaderBytesMax <
      Limits.headerBytesMax
  ],
  ["a commit batch fits the mailbox", Limits.commitBatchMax <= Limits.mailboxCapacity],
  ["memory data fits the request body", Limits.memoryDataBytesMax < Limits.requestBodyBytesMax],
  ["memory data nests less deeply than the request", Limits.memoryDataDepthMax < Limits.jsonDepthMax],
  ["a schema fits the request body", Limits.schemaTextBytesMax < Limits.requestBodyBytesMax],
  ["a fan-out fits the open namespaces", Limits.namespaceFanOutMax <= Limits.openNamespacesMax],
  ["a flush of the ledger fits its queue", Limits.ledgerFlushBatch <= Limits.ledgerPendingMax],
  [
    "a repeated write finds its reservation as long as its answer",
    Limits.reservationRetentionMillis >= Limits.idempotencyRetentionMillis
  ],
  ["one account cannot take all places of a network", Limits.paymentsPerAccountMax < Limits.paymentsPerNetworkMax],
  ["a payment outlives the spare time that settling wants", Limits.paymentTimeoutSeconds > Limits.paymentSpareSeconds],
  [
    "a short wait for a reading ends before its deadline",
    Limits.extractionWaitMillis <= Limits.extractionPatienceMillis &&
      Limits.extractionPatienceMillis < Limits.extractionDeadlineMillis
  ],
  ["an event is kept for longer than its message is tried", Limits.hookGiveUpMillis < Limits.eventsKeptMillis],
  ["lists are checked for names to their end", Limits.listItemsCheckedMax >= Limits.messagesPerConversationMax],
  ["a message may have several passages", Limits.passageLengthMax < Limits.searchedMessageLengthMax],
  ["a passage fits the data of a tool's answer", Limits.passageLengthMax < Limits.shortDataLengthMax],
  ["a message with neighbours is one passage", Limits.neighbourMessageLengthMax <= Limits.passageLengthMax],
  ["one client cannot use up all sign-ups", Limits.signUpsPerClientHour < Limits.signUpsPerHour],
  ["a request is refused before it would wait too long", Limits.queueWaitMillis <= Limits.queueWaitMillisMax],
  [
    "one account does not hold the room of all for answers",
    Limits.accountAnswersBytesMax * 2 <= Limits.answersBytesMax
  ],
  ["an account may send the largest body", Limits.requestBodyBytesMax <= Limits.accountBodiesBytesMax],
  [
    "one account leaves others room for the largest body",
    Limits.accountBodiesWithRestBytesMax + Limits.requestBodyBytesMax <= Limits.bodiesBytesMax
  ],
  [
    "the largest body finds room beside two that rest",
    Limits.requestBodyBytesMax * 3 <= Limits.accountBodiesWithRestBytesMax
  ],
  ["a crowd of bodies rests longer than one", Limits.bodyRestMillisMax <= Limits.crowdedBodyRestMillis],
  ["a body counts as slow before its time is up", Limits.slowBodyMillis < Limits.requestTimeoutMillis],
  ["background work that fails goes on", Limits.roundRetryMillisMin <= Limits.roundRetryMillisMax],
  ["a shutdown outlives background work", Limits.roundStopMillisMax * 4 <= Limits.shutdownDrainMillis],
  ["a shutdown has time for what arrives last", Limits.lastArrivalsMillis * 4 <= Limits.shutdownDrainMillis],
  ["headers arrive before the request ends", Limits.headerTimeoutMillis < Limits.requestTimeoutMillis],
  ["an idle connection outlives a slow request", Limits.requestTimeoutMillis < Limits.connectionIdleMillis]
]
for (const [claim, holds] of relations) {
  if (!holds) throw new Error(`Limits contradict each other: ${claim}`)
}
