/**
 * Tables and functions of the shared log, in PostgreSQL's schema `muniment_log`, with versions of their own. A released
 * migration never changes; a later version is refused.
 *
 * Invariant: whoever changes rows of a namespace holds the lock of its row in `namespace_owner`, taken in the statement
 * that changes them: a frozen client never keeps it.
 */
import { Effect } from "effect"
import { make, type MigrationError, type ResolvedMigration } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { LogFault } from "@muniment/engine/log/LogError"

const tables = `
CREATE TABLE muniment_log.node_lease (
  node text PRIMARY KEY,
  incarnation bigint NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE TABLE muniment_log.namespace_owner (
  tag text PRIMARY KEY,
  epoch bigint,                        -- with seq: what the last commit left; null: no commit yet
  seq bigint,
  ordinal bigint NOT NULL DEFAULT 0,   -- of the last record
  tenure bigint NOT NULL DEFAULT 0,    -- grows with every claim: the fence
  node text,                           -- null: released
  incarnation bigint,
  erased_through bigint NOT NULL DEFAULT 0,
  base_object text,
  base_ordinal bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
CREATE TABLE muniment_log.namespace_log (
  tag text NOT NULL,
  ordinal bigint NOT NULL,
  epoch bigint NOT NULL,               -- before the commit
  from_seq bigint NOT NULL,
  is_refused boolean NOT NULL DEFAULT false,
  record bytea,                        -- null: erased
  PRIMARY KEY (tag, ordinal)
);
ALTER TABLE muniment_log.namespace_log ALTER COLUMN record SET STORAGE EXTERNAL`

const functions = `
CREATE FUNCTION muniment_log.admits(
  o muniment_log.namespace_owner, a_tenure bigint, a_epoch bigint, a_seq bigint, a_ordinal bigint
) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT (o).tenure = a_tenure AND COALESCE((o).epoch, a_epoch) = a_epoch AND COALESCE((o).seq, a_seq) = a_seq
    AND (o).ordinal = a_ordinal - 1
$$;
CREATE FUNCTION muniment_log.claim(a_tag text, a_node text, a_incarnation bigint)
RETURNS SETOF muniment_log.namespace_owner LANGUAGE plpgsql AS $$
DECLARE o muniment_log.namespace_owner; l muniment_log.node_lease;
BEGIN
  INSERT INTO muniment_log.namespace_owner (tag) VALUES (a_tag) ON CONFLICT DO NOTHING;
  SELECT * INTO o FROM muniment_log.namespace_owner WHERE tag = a_tag FOR UPDATE;
  IF o.node IS NOT NULL AND NOT (o.node = a_node AND o.incarnation = a_incarnation) THEN
    -- Locked, so that a renewal under way is waited for.
    SELECT * INTO l FROM muniment_log.node_lease n WHERE n.node = o.node FOR SHARE;
    IF FOUND AND l.incarnation = o.incarnation AND l.expires_at > clock_timestamp() THEN RETURN; END IF;
  END IF;
  RETURN QUERY UPDATE muniment_log.namespace_owner u
    SET tenure = u.tenure + 1, node = a_node, incarnation = a_incarnation WHERE u.tag = a_tag RETURNING u.*;
END $$;
CREATE FUNCTION muniment_log.refuse(a_tag text, a_tenure bigint, a_ordinal bigint)
RETURNS SETOF muniment_log.namespace_owner LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM muniment_log.namespace_owner WHERE tag = a_tag AND tenure = a_tenure FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE muniment_log.namespace_log SET is_refused = true WHERE tag = a_tag AND ordinal = a_ordinal;
  -- The owner goes on from before the first commit that was refused.
  RETURN QUERY UPDATE muniment_log.namespace_owner o
    SET epoch = LEAST(o.epoch, l.epoch), seq = LEAST(o.seq, l.from_seq)
    FROM (SELECT epoch, from_seq FROM muniment_log.namespace_log WHERE tag = a_tag AND ordinal = a_ordinal) l
    WHERE o.tag = a_tag RETURNING o.*;
END $$;
CREATE FUNCTION muniment_log.erase(a_tag text, a_tenure bigint, a_ordinal bigint)
RETURNS SETOF bigint LANGUAGE plpgsql AS $$
DECLARE erased bigint;
BEGIN
  PERFORM FROM muniment_log.namespace_owner WHERE tag = a_tag AND tenure = a_tenure FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE muniment_log.namespace_log SET record = NULL
    WHERE tag = a_tag AND ordinal <= a_ordinal AND record IS NOT NULL;
  GET DIAGNOSTICS erased = ROW_COUNT;
  UPDATE muniment_log.namespace_owner SET erased_through = GREATEST(erased_through, a_ordinal) WHERE tag = a_tag;
  RETURN NEXT erased;
END $$;
CREATE FUNCTION muniment_log.remove(a_tag text, a_tenure bigint)
RETURNS SETOF muniment_log.namespace_owner LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM muniment_log.namespace_owner WHERE tag = a_tag AND tenure = a_tenure FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  DELETE FROM muniment_log.namespace_log WHERE tag = a_tag;
  RETURN QUERY UPDATE muniment_log.namespace_owner o SET epoch = NULL, seq = NULL, tenure = o.tenure + 1,
    node = NULL, incarnation = NULL, base_object = NULL, base_ordinal = o.ordinal, erased_through = 0
    WHERE o.tag = a_tag RETURNING o.*;
END $$;
CREATE FUNCTION muniment_log.rebase(a_tag text, a_tenure bigint, a_ordinal bigint, a_object text)
RETURNS TABLE (old_object text) LANGUAGE plpgsql AS $$
DECLARE o muniment_log.namespace_owner;
BEGIN
  SELECT * INTO o FROM muniment_log.namespace_owner u
    WHERE u.tag = a_tag AND u.tenure = a_tenure AND a_ordinal BETWEEN u.base_ordinal AND u.ordinal FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  DELETE FROM muniment_log.namespace_log WHERE tag = a_tag AND ordinal <= a_ordinal;
  UPDATE muniment_log.namespace_owner SET base_ordinal = a_ordinal, base_object = a_object WHERE tag = a_tag;
  RETURN QUERY SELECT o.base_object;
END $$`

/** Rows are locked in the order of their tags, so that two nodes never wait for each other. */
const append = `
CREATE FUNCTION muniment_log.append(
  tags text[], tenures bigint[], epochs bigint[], from_seqs bigint[], next_epochs bigint[], to_seqs bigint[],
  ordinals bigint[], records bytea[]
) RETURNS SETOF text LANGUAGE sql AS $$
  WITH i AS MATERIALIZED (
    SELECT * FROM unnest(tags, tenures, epochs, from_seqs, next_epochs, to_seqs, ordinals, records)
      AS t(tag, tenure, epoch, from_seq, next_epoch, to_seq, ordinal, record)),
  held AS MATERIALIZED (
    SELECT o.tag FROM muniment_log.namespace_owner o JOIN i USING (tag)
    WHERE muniment_log.admits(o, i.tenure, i.epoch, i.from_seq, i.ordinal) ORDER BY o.tag FOR UPDATE OF o),
  moved AS (
    UPDATE muniment_log.namespace_owner o SET epoch = i.next_epoch, seq = i.to_seq, ordinal = i.ordinal
    FROM i JOIN held USING (tag) WHERE o.tag = i.tag RETURNING o.tag)
  INSERT INTO muniment_log.namespace_log (tag, ordinal, epoch, from_seq, record)
    SELECT i.tag, i.ordinal, i.epoch, i.from_seq, i.record FROM i JOIN moved USING (tag) RETURNING tag
$$`

/** `SharedSecrets.ts`. */
const secrets = `CREATE TABLE muniment_log.secret (name text PRIMARY KEY, sealed bytea NOT NULL)`

/** `MoveMarks.ts`. */
const marks = `CREATE TABLE muniment_log.move (name text PRIMARY KEY, said text NOT NULL)`

/** Digest of the account and agent that were erased. The agent of another account may get the tag. */
const erased = `ALTER TABLE muniment_log.namespace_owner ADD COLUMN erased text`

/**
 * `nodes/BaseSweep.ts`. `condemn` and `rebase` both lock the row of the namespace, so that a base is not removed while
 * it is made the one that counts.
 */
const strays = `
CREATE TABLE muniment_log.stray (
  object text PRIMARY KEY,
  tag text NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  is_condemned boolean NOT NULL DEFAULT false
);
CREATE TABLE muniment_log.sweep (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  begun_at timestamptz NOT NULL,
  ended_at timestamptz,
  looked bigint NOT NULL DEFAULT 0,
  removed bigint NOT NULL DEFAULT 0
);
CREATE FUNCTION muniment_log.condemn(a_tag text, a_object text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM muniment_log.namespace_owner WHERE tag = a_tag FOR UPDATE;
  IF EXISTS (SELECT FROM muniment_log.namespace_owner WHERE tag = a_tag AND base_object = a_object) THEN
    RETURN false;
  END IF;
  UPDATE muniment_log.stray SET is_condemned = true WHERE object = a_object;
  RETURN FOUND;
END $$;
CREATE OR REPLACE FUNCTION muniment_log.rebase(a_tag text, a_tenure bigint, a_ordinal bigint, a_object text)
RETURNS TABLE (old_object text) LANGUAGE plpgsql AS $$
DECLARE o muniment_log.namespace_owner;
BEGIN
  SELECT * INTO o FROM muniment_log.namespace_owner u
    WHERE u.tag = a_tag AND u.tenure = a_tenure AND a_ordinal BETWEEN u.base_ordinal AND u.ordinal FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  IF EXISTS (SELECT FROM muniment_log.stray s WHERE s.object = a_object AND s.is_condemned) THEN RETURN; END IF;
  DELETE FROM muniment_log.namespace_log WHERE tag = a_tag AND ordinal <= a_ordinal;
  UPDATE muniment_log.namespace_owner SET base_ordinal = a_ordinal, base_object = a_object WHERE tag = a_tag;
  RETURN QUERY SELECT o.base_object;
END $$`

/** In one step with the end of its row's pointer, the base is written down as one that is to be removed. */
const removals = `
CREATE OR REPLACE FUNCTION muniment_log.remove(a_tag text, a_tenure bigint)
RETURNS SETOF muniment_log.namespace_owner LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM muniment_log.namespace_owner WHERE tag = a_tag AND tenure = a_tenure FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO muniment_log.stray (object, tag, is_condemned)
    SELECT base_object, tag, true FROM muniment_log.namespace_owner WHERE tag = a_tag AND base_object IS NOT NULL
    ON CONFLICT (object) DO UPDATE SET is_condemned = true;
  DELETE FROM muniment_log.namespace_log WHERE tag = a_tag;
  RETURN QUERY UPDATE muniment_log.namespace_owner o SET epoch = NULL, seq = NULL, tenure = o.tenure + 1,
    node = NULL, incarnation = NULL, base_object = NULL, base_ordinal = o.ordinal, erased_through = 0
    WHERE o.tag = a_tag RETURNING o.*;
END $$`

const leftTexts = `
CREATE TABLE muniment_log.left_text (
  id text PRIMARY KEY,
  text text NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
)`

const steps = (texts: ReadonlyArray<string>) =>
  SqlClient.use((sql) => Effect.forEach(texts, (text) => sql.unsafe(text), { discard: true }))

/** `CREATE FUNCTION` ends at a semicolon outside of its body; the client sends one statement at a time. */
const statementsOf = (text: string): ReadonlyArray<string> =>
  text.split(/;\n(?=CREATE|ALTER)/).map((statement) => statement.trim())

const migrations: ReadonlyArray<ResolvedMigration> = [
  [1, "log", Effect.succeed(steps([...statementsOf(tables), ...statementsOf(functions), append]))],
  [2, "secrets", Effect.succeed(steps([secrets]))],
  [3, "moves", Effect.succeed(steps([marks]))],
  [4, "erased agents", Effect.succeed(steps([erased]))],
  [5, "strays", Effect.succeed(steps(statementsOf(strays)))],
  [6, "removals", Effect.succeed(steps([removals]))],
  [7, "left texts", Effect.succeed(steps([leftTexts]))]
]

/**
 * Lock of nodes that start together: `IF NOT EXISTS` of two at once fails for one of them. Any unused number will do.
 */
export const startLock = 0x6d_75_6e_69

/** Brings the database to this release's version; nodes that start together wait for each other. */
export const migrateLog: Effect.Effect<void, LogFault | MigrationError | SqlError, SqlClient> = Effect.gen(
  function* () {
    const sql = yield* SqlClient
    yield* sql`SELECT pg_advisory_xact_lock(${startLock}::int8)`
    yield* sql`CREATE SCHEMA IF NOT EXISTS muniment_log`
    yield* make({})({ loader: Effect.succeed(migrations), table: "muniment_log.migration" })
    const [newest] = yield* sql<{ id: number }>`SELECT max(migration_id) AS id FROM muniment_log.migration`
    if (newest !== undefined && newest.id > migrations.length)
      return yield* new LogFault({
        cause: new Error(`the log's database has version ${newest.id}, this release knows ${migrations.length}`)
      })
  }
).pipe((steps) => SqlClient.use((sql) => sql.withTransaction(steps)))
