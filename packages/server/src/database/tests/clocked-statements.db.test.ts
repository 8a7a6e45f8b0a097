import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../test/account-nodes.ts'
import { type EventStreamClient, openEventStream } from '../../../test/event-stream.ts'
import { alice } from '../../../test/fixtures.ts'
import { observeStatements } from '../../../test/observed-statements.ts'
import { createTestApp, type TestApp, userToken } from '../../../test/test-app.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { openWebSocket, type WebSocketClient } from '../../../test/websocket-client.ts'
import type { RenderedSql } from '../sql.ts'

/*
 * Node without client requests. All its statements are observed, so that a new poller is tested with the
 * others. Schedules run at once.
 */

/**
 * Tables that do not grow with use: definitions, single rows, a row per node or per table. All others may be
 * large.
 */
const smallTables = new Set([
  'administrator_backup_codes',
  'administrator_passkeys',
  'administrator_totp',
  'administrators',
  'api_key_version',
  'buckets',
  'email_templates',
  'embeddings',
  'event_cursors',
  // Its contents are beside the table, and a daily job compares its keys.
  'function_blobs',
  'function_deploys',
  'function_live',
  // Its rows are merged after every thousand.
  'job_counts',
  'matviews',
  'migrations',
  'oauth_version',
  'opened_schemas',
  'outbox_pruned',
  'project_migrations',
  'project_schema',
  'realtime_channels',
  'realtime_nodes',
  'realtime_tables',
  'schedules',
  'search_settings',
  'secrets',
  'settings',
  // It has `sites.kept_deploys` rows per site and a few more.
  'site_deploys',
  'site_version',
  'sql_job_types',
  'usage_nodes',
  'vector_index_build',
  'webhooks',
])

/** Fragments of each clock's statements. The observation lasts until the slowest clock has run. */
const clocks = [
  'from basalt.event_interests',
  'from basalt.settings',
  'from basalt.search_settings',
  'from basalt.ended_sessions',
  'as fingerprint',
  'from basalt.event_cursors',
  'update basalt.event_cursors',
  'basalt.webhook_queue',
  'from basalt.schedules',
  "where state = 'queued' order by type",
  'the worker was lost',
  'from basalt.outbox',
  'from basalt.realtime_messages',
  'delete from basalt.realtime_messages',
  'update basalt.realtime_nodes',
  'from basalt.realtime_connections',
  'insert into basalt.realtime_tables',
  'delete from basalt.realtime_presence',
  'basalt.realtime_channels',
  // These are jobs of the housekeeping.
  'delete from basalt.outbox',
  'delete from "basalt"."attempts"',
  'delete from "basalt"."sessions"',
  'delete from "basalt"."mailed_tokens"',
  'delete from basalt.realtime_tables',
  'delete from "basalt"."realtime_sent"',
  'delete from "basalt"."users"',
]

/** Correction of the job counts, which compares them with all jobs once a day. */
const wholeTables = ['count(*) as jobs from basalt.jobs group by state']

const rowCount = 30_000

let app: TestApp
let client: pg.Client
let stream: EventStreamClient
let socket: WebSocketClient
/** Statements by text; those of the housekeeping are separate. */
const frequent = new Map<string, RenderedSql>()
const rare = new Map<string, RenderedSql>()

beforeAll(async () => {
  let target = frequent
  const observed = observeStatements((statement) => {
    if (isQuery(statement)) target.set(statement.text, statement)
  })
  app = await createTestApp({
    config: { 'auth.clean_up.enabled': 'true', 'auth.totp_enabled': 'true' },
    setup: `
      create table item (id int primary key);
      create table parent (id int primary key);
      create table child (id int primary key);
      alter table child enable row level security;
      create policy parent on child using (exists (select from parent where parent.id = child.id));
      insert into basalt.webhooks (id, url, events, tables, enabled)
      values (gen_random_uuid(), 'http://127.0.0.1:9/', '{create,update,delete}', '{}', true);
      -- No housekeeping runs before its time.
      update basalt.schedules set next_run_at = now() + interval '1 day' where enabled`,
  })
  const token = userToken({ sub: alice })
  stream = await openEventStream(app.url, 'tables=item,child', { token })
  socket = await openWebSocket(app.url, { token })
  await socket.request({ type: 'channel_subscribe', channel: 'room' })
  await socket.request({ type: 'presence_track', channel: 'room', presence: {} })
  // Nothing happens from here on: the last message has been read.
  await socket.next('presence', 2)
  frequent.clear()
  const isSeen = (clock: string) => [...frequent.keys(), ...rare.keys()].some((text) => text.includes(clock))
  const isRare = (clock: string) => clocks.indexOf(clock) >= clocks.indexOf('delete from basalt.outbox')
  await waitFor('every clock', () => clocks.every((clock) => isRare(clock) || isSeen(clock)), 60_000)
  target = rare
  await app.sql('update basalt.schedules set next_run_at = now() where enabled')
  const missing = () => clocks.filter((clock) => !isSeen(clock))
  await waitFor(`the slow clocks`, () => missing().length === 0).catch(() => {
    throw new Error(`not sent: ${missing().join()}`)
  })
  await sendRequests()
  observed.stop()
  for (const text of frequent.keys()) rare.delete(text)
  client = new pg.Client({ connectionString: app.database.url })
  await client.connect()
}, 180_000)

/**
 * Sends requests that check their sessions. While a node cannot read changes, every request checks whether its
 * token is still valid.
 */
async function sendRequests(): Promise<void> {
  await using held = await openTransaction(app.database)
  await held.sql('lock table basalt.search_settings')
  const isChecked = () => [...rare.keys()].some((text) => /select 1\s+from basalt.ended_sessions/.test(text))
  await waitFor('the token to be looked up', async () => {
    await app.request('GET', '/api/collections/item', { token: userToken({ sub: alice }) })
    return isChecked()
  })
}

afterAll(async () => {
  await client.end()
  await stream[Symbol.asyncDispose]()
  await socket[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

afterEach(async () => {
  await client.query('reset all')
})

const costs = new Map<string, number>()

describe('statements on a clock', () => {
  test('need no parallel worker and no JIT while their tables are empty and not analyzed', async () => {
    for (const statement of [...frequent.values(), ...rare.values()]) {
      const plan = await explain(statement)
      expect.soft(findParallel(plan), statement.text).toEqual([])
      costs.set(statement.text, plan.blocks)
    }
  })

  test('read no table in proportion to its size when all are large', async () => {
    await fillTables(await namesIn([...frequent.values(), ...rare.values()]))
    // A parallel plan is made cheaper than usual.
    await client.query('set min_parallel_table_scan_size = 0; set min_parallel_index_scan_size = 0')
    for (const statement of [...frequent.values(), ...rare.values()]) {
      const plan = await explain(statement)
      expect.soft(findParallel(plan), statement.text).toEqual([])
      if (!wholeTables.some((part) => statement.text.includes(part))) {
        expect.soft(plan.scanned, statement.text).toEqual([])
      }
      if (!frequent.has(statement.text)) continue
      const before = costs.get(statement.text) ?? 0
      // Each index scan may read one more level; the queue has two scans per job type.
      expect.soft(plan.blocks, statement.text).toBeLessThan(before + 100)
    }
  }, 600_000)
})

function isQuery({ text }: RenderedSql): boolean {
  return /^\s*(with|select|insert|update|delete)\b/i.test(text)
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly Schema?: string
  readonly Plans?: readonly PlanNode[]
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
}

interface Plan {
  readonly nodes: readonly PlanNode[]
  readonly hasJit: boolean
  /** Large tables that are read from one end to the other. */
  readonly scanned: readonly string[]
  readonly blocks: number
}

async function explain({ text, values }: RenderedSql): Promise<Plan> {
  await client.query('begin')
  try {
    const { rows } = await client.query(`explain (analyze, buffers, verbose, format json) ${text}`, [
      ...values,
    ])
    const [plan] = rows[0]['QUERY PLAN']
    const nodes = [...walk(plan.Plan)]
    const root: PlanNode = plan.Plan
    return {
      nodes,
      hasJit: plan.JIT !== undefined,
      scanned: nodes.flatMap((node) => {
        const name = node['Relation Name']
        const isLarge = node.Schema?.startsWith('basalt') === true && !smallTables.has(name ?? '')
        return node['Node Type'] === 'Seq Scan' && isLarge ? (name ?? []) : []
      }),
      blocks: (root['Shared Hit Blocks'] ?? 0) + (root['Shared Read Blocks'] ?? 0),
    }
  } finally {
    await client.query('rollback')
  }
}

function* walk(node: PlanNode): Generator<PlanNode> {
  yield node
  for (const child of node.Plans ?? []) yield* walk(child)
}

function findParallel({ nodes, hasJit }: Plan): string[] {
  const parallel = nodes.map((node) => node['Node Type']).filter((type) => type.startsWith('Gather'))
  return hasJit ? [...parallel, 'JIT'] : parallel
}

/** Values for columns where a value of the type alone would not work. */
const fillings: Readonly<Record<string, string>> = {
  'outbox.transaction_id': `'3'::xid8`,
  'realtime_messages.transaction_id': `'3'::xid8`,
  // The value is in the future: the server removes messages after a minute, and the fill may take longer.
  'realtime_messages.created_at': `now() + interval '1 day'`,
  'ended_sessions.ended_by': `'3'::xid8`,
  'realtime_sent.events': 'int8range(i, i + 1)',
  'realtime_presence.left_at': 'null',
  'realtime_presence.node': 'md5((i % 10)::text)::uuid',
  'users.email': `'user' || i || '@example.com'`,
  'jobs.type': `'some_type'`,
  'jobs.state': `(array['queued', 'completed', 'failed'])[1 + i % 3]`,
  'jobs.run_at': `now() + interval '1 day'`,
}

const byType: Readonly<Record<string, string>> = {
  text: `'text ' || i`,
  uuid: 'gen_random_uuid()',
  timestamptz: `now() + interval '1 day'`,
  bool: 'false',
  int4: 'i',
  int8: 'i',
  int2: '1',
  float4: '1',
  date: `current_date + 1`,
  json: `'{}'`,
  jsonb: `'{}'`,
  bytea: `decode(md5(i::text), 'hex')`,
  _text: `'{}'`,
  inet: `'127.0.0.1'`,
}

/**
 * Returns the words of statements, and of the functions and views in them. They include the tables that the
 * statements can read.
 */
async function namesIn(statements: readonly RenderedSql[]): Promise<ReadonlySet<string>> {
  const { rows: definitions } = await client.query<{ name: string; text: string }>(`
    select proname as name, pg_get_functiondef(oid) as text
    from pg_proc
    where pronamespace = 'basalt'::regnamespace and prokind in ('f', 'p')
    union all
    select relname, pg_get_viewdef(oid)
    from pg_class
    where relnamespace = 'basalt'::regnamespace and relkind in ('v', 'm')`)
  const names = new Set<string>()
  const read = (text: string): void => {
    for (const [name] of text.matchAll(/\w+/g)) {
      if (names.has(name)) continue
      names.add(name)
      for (const definition of definitions) if (definition.name === name) read(definition.text)
    }
  }
  for (const { text } of statements) read(text)
  return names
}

/**
 * Fills tables with future rows, in the middle of the history, none of which is due. Rows of other tables would
 * only make this test slower.
 */
async function fillTables(names: ReadonlySet<string>): Promise<void> {
  const { rows: columns } = await client.query<{
    relation: string
    name: string
    column: string
    type: string
  }>(
    `
    select c.oid::regclass::text as relation, c.relname as name, a.attname as column, t.typname as type
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    join pg_type t on t.oid = a.atttypid
    where c.relkind = 'r' and n.nspname = 'basalt'
      and a.attidentity = '' and a.attgenerated = ''
      and (a.attnotnull or c.relname || '.' || a.attname = any ($1))
      and (not a.atthasdef or c.relname || '.' || a.attname = any ($1))
    order by c.oid, a.attnum`,
    [Object.keys(fillings)],
  )
  // They are alive, or other nodes would remove their presences.
  await client.query(`
    insert into basalt.realtime_nodes (id, seen_at)
    select md5(i::text)::uuid, now() + interval '1 hour' from generate_series(0, 9) i`)
  // The rows are invented, so foreign keys, triggers and checks are off.
  await client.query(`set session_replication_role = 'replica'`)
  const { rows: checks } = await client.query<{ drop: string }>(`
    select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop
    from pg_constraint where contype = 'c' and connamespace = 'basalt'::regnamespace`)
  for (const { drop } of checks) await client.query(drop)
  for (const [relation, own] of Map.groupBy(columns, (column) => column.relation)) {
    const name = own[0]?.name ?? ''
    if (smallTables.has(name) || !names.has(name)) continue
    const columnNames = own.map(({ column }) => `"${column}"`).join()
    const values = own
      .map(({ name, column, type }) => fillings[`${name}.${column}`] ?? byType[type] ?? 'null')
      .join()
    await client
      .query(
        `insert into ${relation} (${columnNames}) select ${values} from generate_series(1, ${rowCount}) i on conflict do nothing`,
      )
      .catch((error) => {
        throw new Error(`cannot fill ${relation}: ${error.message}`)
      })
  }
  await client.query('analyze')
  const { rows: small } = await client.query(
    `select relname from pg_class
     where relnamespace = 'basalt'::regnamespace and relkind = 'r' and reltuples < $1 and relname <> all ($2)
       and relname = any ($3)`,
    [rowCount / 2, [...smallTables], [...names]],
  )
  expect(small).toEqual([])
}
