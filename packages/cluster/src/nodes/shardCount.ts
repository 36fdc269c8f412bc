/**
 * Of the whole cluster, for ever: which node serves what is agreed by shard. A shard costs PostgreSQL an advisory lock.
 */
export const shardCount = 1_024

/** What sessions of the locks call themselves in PostgreSQL. */
export const shardSessions = "muniment-cluster"
