import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { observeStatements } from '../../../../../test/observed-statements.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import { audienceOf, type Subscriptions } from '../changes/audience.ts'
import type { LogEvent } from '../changes/event.ts'
import { planFilter } from '../changes/filter.ts'
import { Hub } from '../changes/hub.ts'
import { parseFilter } from '../changes/parse-filter.ts'
import { EventSelector } from '../changes/select-events.ts'
import { SentLog } from '../changes/sent-log.ts'
import { findStreamTable } from '../changes/stream-table.ts'
import { Stream, type Transport } from '../stream.ts'

/** Compares decisions that callers share with PostgreSQL’s decision for each caller. */

const carol = '00000000-0000-4000-8000-00000000ca01'
const dave = '00000000-0000-4000-8000-00000000dada'
/** Statement that grants the role. Before PostgreSQL 16, inheritance is an attribute of the member. */
const grantEditor = `do $$ begin
  if current_setting('server_version_num')::int < 160000 then grant policy_editor to basalt_authenticated;
  else execute 'grant policy_editor to basalt_authenticated with inherit true'; end if;
end $$`
const log = pino({ level: 'silent' })
let app: TestApp
let selector: EventSelector

beforeAll(async () => {
  app = await createTestApp({
    setup: `
      create type kind as enum ('x', 'y');
      create domain positive as int check (value > 0);
      create collation blunt (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      create table room (id int primary key, host uuid);
      create table member (room_id int, user_id uuid);
      create table note (
        id int primary key, owner uuid, helper uuid, author text, tag varchar(60), vague text collate blunt,
        members uuid[], pub bool, open bool, status text, kind kind, created timestamptz, room_id int
      );
      create table child () inherits (room);
      insert into room select n, case when n % 2 = 0 then '${alice}'::uuid else '${bob}' end from generate_series(1, 4) n;
      insert into member values (1, '${alice}'), (2, '${bob}'), (3, '${carol}');
      create role policy_editor; create role policy_stranger; ${grantEditor};
      create function is_me(id uuid) returns bool stable language sql as 'select id = basalt.user_id()';
      create function same(a uuid, b uuid) returns bool immutable language sql as 'select true';
      create operator public.= (leftarg = uuid, rightarg = uuid, function = same);
      alter table note enable row level security;
      alter table room enable row level security;
      create policy hosts on room using (host = basalt.user_id())`,
  })
  const { system, user } = app.app.database
  selector = new EventSelector({ live: app.app.catalog, system, user, log })
})
afterAll(() => app[Symbol.asyncDispose]())

const caller = (
  userId: string,
  claims: Partial<Extract<CallerScope, { kind: 'caller' }>> = {},
): CallerScope => ({
  ...{ kind: 'caller', userId, email: `${userId}@example.com`, isEmailVerified: true },
  ...{ aal: 'aal1', isAnonymous: false, sessionId: '' },
  ...claims,
})
const scopes: readonly CallerScope[] = [
  caller(alice),
  caller(bob),
  caller(carol, { aal: 'aal2' }),
  caller(dave),
  caller(dave, { aal: 'aal2', isEmailVerified: false }),
  caller('00000000-0000-4000-8000-0000000000ee', { isAnonymous: true }),
  caller('00000000-0000-4000-8000-0000000000ff'),
  { kind: 'anonymous' },
  { kind: 'unrestricted' },
]

const userId = fc.constantFrom(
  'basalt.user_id()',
  '(select basalt.user_id())',
  "current_setting('basalt.user_id', true)::uuid",
  "(select current_setting('basalt.user_id', true))::uuid",
  "(select nullif(current_setting('basalt.user_id'), '')::uuid)",
)
const known = fc.oneof(
  ...['owner = $', '$ = helper', 'owner <> $', 'owner operator(pg_catalog.=) $', 'author = $::text'].map(
    (text) => userId.map((id) => text.replace('$', id)),
  ),
  ...['$::text = tag', '$ = any (members)', '$ is not null', '$ is null', 'author <> $::text'].map((text) =>
    userId.map((id) => text.replace('$', id)),
  ),
  fc.constantFrom(
    ...[
      "author = current_setting('basalt.user_id', true)",
      'owner is null',
      'true',
      'false',
      'null::bool',
      'pub',
    ],
    ...[
      'pub = true',
      'pub = false',
      'pub is true',
      'pub is not true',
      'open is false',
      'open is unknown',
      'not pub',
    ],
    ...[
      "status = 'a'",
      "status in ('a', 'b')",
      "kind = 'x'",
      'coalesce(pub, false)',
      'created < now()',
      'id % 2 = 0',
    ],
    ...[
      '10 / (id - 3) > 1',
      "basalt.aal() = 'aal2'",
      "(select basalt.aal()) = 'aal2'",
      'basalt.email_verified()',
    ],
    ...['not basalt.is_anonymous()', "nullif(current_setting('basalt.email_verified', true), '')::bool"],
    ...["case when pub then basalt.aal() = 'aal2' else open end", 'cardinality(members) > 1'],
  ),
)
/** Conditions that are decided for each caller. */
const unknown = fc.constantFrom(
  ...['is_me(owner)', 'owner operator(public.=) basalt.user_id()', 'vague = basalt.user_id()::text'],
  ...['exists (select from member m where m.room_id = note.room_id and m.user_id = basalt.user_id())'],
  ...['room_id in (select id from room)', "basalt.user_email() like '%ff@%'", 'basalt.claims() is not null'],
  ...[
    'owner::text = basalt.user_id()::text',
    'random() >= 0',
    'note is not null',
    'basalt.session_id() is null',
  ],
  `coalesce(owner, basalt.user_id()) = '${alice}'`,
)
const expression = fc.letrec<{ tree: string; leaf: string }>((tie) => ({
  leaf: fc.oneof({ arbitrary: known, weight: 12 }, { arbitrary: unknown, weight: 1 }),
  tree: fc.oneof(
    { depthSize: 'small' },
    tie('leaf'),
    fc.tuple(tie('tree'), tie('tree')).map(([left, right]) => `(${left} or ${right})`),
    fc.tuple(tie('tree'), tie('tree')).map(([left, right]) => `(${left} and ${right})`),
    tie('tree').map((tree) => `not (${tree})`),
    fc
      .tuple(tie('tree'), fc.constantFrom('true', 'not false', 'unknown'))
      .map(([tree, test]) => `(${tree}) is ${test}`),
  ),
})).tree
const policy = fc.record({
  using: expression,
  kind: fc.constantFrom('permissive', 'permissive', 'restrictive'),
  command: fc.constantFrom('all', 'select', 'select', 'update'),
  to: fc.constantFrom(
    'public',
    'basalt_authenticated',
    'policy_editor',
    'policy_stranger',
    'basalt_anonymous',
  ),
})

const someone = fc.constantFrom(null, alice, alice, bob, carol, dave)
const flag = fc.constantFrom(true, false, null)
const record = fc.record({
  ...{ owner: someone, helper: someone, author: someone, tag: someone, vague: someone },
  ...{ members: fc.option(fc.array(someone, { maxLength: 3 })), pub: flag, open: flag },
  ...{ status: fc.constantFrom('a', 'b', 'c', null), kind: fc.constantFrom('x', 'y', null) },
  ...{
    created: fc.constantFrom('2020-01-01T00:00:00+00:00', '2190-01-01T00:00:00+00:00'),
    room_id: fc.nat(4),
  },
})
const change = fc.record({
  action: fc.constantFrom('create', 'update', 'delete'),
  id: fc.nat(5),
  now: record,
  before: record,
})

/** Definitions that change between two reads of the catalog. */
const redefinition = fc.oneof(
  policy.map((other) => createPolicy('p9', other)),
  expression.map((using) => `alter policy p0 on note using (${using})`),
  fc.constantFrom(
    'drop policy p0 on note',
    'alter table note disable row level security',
    'revoke policy_editor from basalt_authenticated',
    "create or replace function is_me(id uuid) returns bool stable language sql as 'select true'",
    `create or replace function basalt.user_id() returns uuid stable language sql as 'select ''${alice}''::uuid'`,
    `create or replace function basalt.user_id() returns uuid stable language sql as
      'select case when basalt.user_email() like ''%ff@%'' then null else ''${bob}''::uuid end'`,
    "create or replace function basalt.aal() returns text stable language sql as 'select basalt.user_email()'",
    'alter table note alter author type text collate blunt',
    'alter table note alter room_id type positive',
    'create policy mine on child using (false)',
    'alter policy hosts on room using (true)',
    'alter table room disable row level security',
  ),
)

function createPolicy(
  name: string,
  { kind, command, to, using }: Record<'kind' | 'command' | 'to' | 'using', string>,
) {
  return `create policy ${name} on note as ${kind} for ${command} to ${to} using (${using})`
}

function eventOf(
  { action, id, now, before }: Record<string, unknown> & { id: number },
  index: number,
): LogEvent {
  const json = (row: unknown) => JSON.stringify({ id, ...(row as object) })
  return {
    ...{ id: String(index + 1), transactionId: '1', table: 'note', key: [String(id)], oldKey: null },
    ...{ isGap: false, hidden: null, oldHidden: null, record: json(now) },
    action: action as LogEvent['action'],
    oldRecord: action === 'update' ? json(before) : null,
  }
}

interface Delivered {
  readonly bodies: readonly string[]
  readonly hasGap: boolean
}

/** Returns the events that the hub sends to each stream. */
async function deliver(
  events: readonly LogEvent[],
  subscriptions: readonly Subscriptions[],
  callers = scopes,
): Promise<Delivered[]> {
  const { system } = app.app.database
  const hub = new Hub(selector, new SentLog({ database: system, node: '', isEnabled: false, log }), log)
  const received = callers.flatMap((scope) =>
    subscriptions.map((each) => {
      const received = { bodies: [] as string[], hasGap: false }
      const transport: Transport = {
        ...{
          name: 'sse',
          frame: (_id, { body }) => body,
          send: (frames) => void received.bodies.push(...frames),
        },
        ...{ gap: () => void Object.assign(received, { hasGap: true }), heartbeat: () => undefined },
        ...{ pendingBytes: 0, drained: async () => undefined, end: () => undefined },
      }
      const owner = { onEnd: () => undefined, mayReceive: () => true }
      const stream = new Stream(transport, { scope, userId: undefined, token: undefined }, '', owner)
      stream.admit()
      stream.subscribe(each)
      hub.attach(stream)
      return { received, stream }
    }),
  )
  const batch = { from: { passed: '1:1:' }, events, target: '2:2:', timeline: undefined, isComplete: true }
  await hub.deliver(batch, { passed: '2:2:' }, undefined)
  await Promise.all(received.map(({ stream }) => hub.inOrder(stream, () => undefined)))
  return received.map(({ received }) => received)
}

/** Decides each identity and each audience separately. Returns the events of each. */
async function decideEach(
  events: readonly LogEvent[],
  subscriptions: readonly Subscriptions[],
): Promise<Delivered[]> {
  const prepared = { ...(await selector.prepare(events, undefined)), shared: new Map() }
  const all: Delivered[] = []
  for (const audience of scopes.flatMap((scope) => subscriptions.map((each) => audienceOf(scope, each)))) {
    const selection = (await selector.select(selector.filter(prepared, [audience]), [audience])).get(audience)
    const bodies = (selection?.messages ?? []).map(({ body }) => body)
    all.push({ bodies, hasGap: selection?.hasGap === true })
  }
  return all
}

/**
 * Checks that both ways select the same. A gap of one audience may be a gap of the others of its identity, because
 * their rows are decided together.
 */
async function expectEqual(
  events: readonly LogEvent[],
  subscriptions: readonly Subscriptions[],
): Promise<void> {
  const [delivered, decided] = [await deliver(events, subscriptions), await decideEach(events, subscriptions)]
  expect(delivered.map(({ bodies }) => bodies)).toEqual(decided.map(({ bodies }) => bodies))
  const isGapOfIdentity = decided.map((_, index) => {
    const first = index - (index % subscriptions.length)
    return decided.slice(first, first + subscriptions.length).some(({ hasGap }) => hasGap)
  })
  delivered.forEach(({ hasGap }, index) => {
    if (decided[index]?.hasGap === true) expect(hasGap).toBe(true)
    if (hasGap) expect(isGapOfIdentity[index]).toBe(true)
  })
}

function subscriptionsOf(): readonly Subscriptions[] {
  const relation = findStreamTable(app.app.catalog.current, 'note')
  if (relation === undefined) throw new Error('there is no table note')
  const filter = planFilter(relation, parseFilter('status=eq.a'), 'caller')
  return [new Map([['note', undefined]]), new Map([['note', filter]])]
}

async function restore(): Promise<void> {
  await app.sql(`
    do $$ declare p record; begin
      for p in select polname, polrelid::regclass as t from pg_policy where polrelid in ('note'::regclass, 'child'::regclass) loop
        execute format('drop policy %I on %s', p.polname, p.t);
      end loop;
    end $$;
    alter table note enable row level security; alter table room enable row level security;
    alter policy hosts on room using (host = basalt.user_id());
    alter table note alter author type text collate "default"; alter table note alter room_id type int;
    ${grantEditor};
    create or replace function is_me(id uuid) returns bool stable language sql as 'select id = basalt.user_id()';
    create or replace function basalt.user_id() returns uuid language sql stable parallel safe
      as $$ select nullif(current_setting('basalt.user_id', true), '')::uuid $$;
    create or replace function basalt.aal() returns text language sql stable parallel safe
      as $$ select nullif(current_setting('basalt.aal', true), '') $$`)
}

describe('realtime › decisions that callers share', () => {
  /** Number of runs. Raise it to search; a failure prints its seed and path. */
  const numRuns = 40

  test('equal PostgreSQL’s decision for each caller while definitions change', async () => {
    let sharedRuns = 0
    const property = fc.asyncProperty(
      fc.array(policy, { minLength: 1, maxLength: 3 }),
      fc.array(change, { minLength: 1, maxLength: 6 }),
      redefinition,
      async (policies, changes, redefined) => {
        await restore()
        await app.sql(policies.map((each, index) => createPolicy(`p${index}`, each)).join(';'))
        await app.app.catalog.refresh()
        const subscriptions = subscriptionsOf()
        const events = changes.map(eventOf)
        await expectEqual(events, subscriptions)
        if ((await selector.prepare(events, undefined)).shared.size > 0) sharedRuns += 1
        await app.sql(redefined).catch((error) => {
          // A policy on the column can prevent the change.
          if (!/cannot alter type|already exists|violates/.test(error.message)) throw error
        })
        // Until the catalog is read again, fewer events may be sent than PostgreSQL permits, and never more.
        const [early, permitted] = [
          await deliver(events, subscriptions),
          await decideEach(events, subscriptions),
        ]
        early.forEach(({ bodies }, index) => {
          const { bodies: allowed = [], hasGap } = permitted[index] ?? {}
          // A statement on a type that has changed decides nothing.
          if (hasGap !== true) expect(allowed).toEqual(expect.arrayContaining([...bodies]))
        })
        await app.app.catalog.refresh()
        const renewed = subscriptionsOf()
        await expectEqual(events, renewed)
      },
    )
    await fc.assert(property, { numRuns, endOnFailure: true })
    expect(sharedRuns).toBeGreaterThan(numRuns / 4)
  })

  describe('number of decisions for 200 callers', () => {
    const named = [
      ['owner = basalt.user_id()', true],
      ['owner = (select basalt.user_id())', true],
      ["owner = current_setting('basalt.user_id')::uuid", true],
      ["nullif(current_setting('basalt.user_id', true), '')::uuid = owner", true],
      ['tag = basalt.user_id()::text and basalt.email_verified()', true],
      ['basalt.user_id() = any (members)', true],
      ["owner = basalt.user_id() and basalt.aal() = 'aal2'", true],
      ['owner = basalt.user_id() or pub', true],
      ['not (owner is distinct from basalt.user_id())', false],
    ] as const

    test.each(named)('%s › needs few decisions: %s', async (using, isShared) => {
      expect((await countDecisions(using)) < fewDecisions).toBe(isShared)
    })

    test.each(['true', 'pub', "status in ('a', 'b') and created < now()", "basalt.aal() = 'aal1'"])(
      '%s › needs one decision',
      async (using) => {
        expect(await countDecisions(using)).toBeLessThan(fewDecisions)
      },
    )

    test.each([
      'is_me(owner)',
      'owner operator(public.=) basalt.user_id()',
      'vague = basalt.user_id()::text',
      'exists (select from member m where m.user_id = basalt.user_id())',
      'id in (select id from room)',
      'random() >= 0',
      'note is not null',
      "basalt.user_email() <> ''",
      "current_setting('app.tenant', true) is null",
    ])('is not reduced by the policy %s', async (using) => {
      expect(await countDecisions(using)).toBeGreaterThanOrEqual(200)
    })

    test.each([
      ['a column of a domain', 'alter table note add column size positive'],
      [
        'a policy of a descendant',
        'create table heir () inherits (note); create policy mine on heir using (true)',
      ],
      [
        'a redefined helper',
        `create or replace function basalt.user_id() returns uuid stable language sql as 'select ''${alice}''::uuid'`,
      ],
    ])('is not reduced with %s', async (_, definition) => {
      expect(await countDecisions('owner = basalt.user_id()', definition)).toBeGreaterThanOrEqual(200)
      await app.sql('alter table note drop column if exists size; drop table if exists heir')
    })
  })
})

/** Maximum number of decisions: one, and repetitions on a busy database. */
const fewDecisions = 20

/** Returns the number of statements that decide about one event for 200 callers. Alice, one of them, owns the row. */
async function countDecisions(using: string, definition = ''): Promise<number> {
  await restore()
  await app.sql(`create policy p0 on note for select using (${using}); ${definition}`)
  await app.app.catalog.refresh()
  const row = { owner: alice, author: alice, tag: alice, members: [alice], pub: false, status: 'a' }
  const event = eventOf(
    {
      action: 'create',
      id: 1,
      now: { ...row, vague: alice, open: true, created: '2020-01-01' },
      before: row,
    },
    0,
  )
  const callers = Array.from({ length: 200 }, (_, index) =>
    caller(index === 0 ? alice : `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`),
  )
  let count = 0
  const observer = observeStatements(({ text }) => {
    if (text.includes('"basalt input"')) count += 1
  })
  try {
    await deliver([event], [new Map([['note', undefined]])], callers)
  } finally {
    observer.stop()
  }
  return count
}
