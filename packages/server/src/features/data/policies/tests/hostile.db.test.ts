import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inviteAdministrator } from '../../../../../test/administrators.ts'
import { makeScratchDirectory } from '../../../../../test/scratch-directory.ts'
import { basaltHere } from '../../../../../test/terminal.ts'
import { envelope, type TestApp } from '../../../../../test/test-app.ts'
import { testSecret } from '../../../../../test/test-config.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import {
  ada,
  anonymous,
  asAda,
  asBen,
  ben,
  createProjectApp,
  matrixOf,
  projectSchema,
  sendAccessRequest,
} from './projects.ts'

const hostileValue = `<img src=x onerror=alert(1)> "quoted" \\ '); drop table t; -- $1 :'ada' {a,b} \u0001`

const more = `
create table raising (id int primary key, divisor int);
alter table raising enable row level security;
create policy divides on raising for select using (1 / divisor > 0);
create policy plain on raising for select using (id = 2);
insert into raising values (1, 1), (2, 0), (3, null);

create table circle (id int primary key);
alter table circle enable row level security;
create policy around on circle using (id in (select id from circle));
insert into circle values (1);

create function doze() returns boolean language sql volatile as 'select pg_sleep(60) is not null';
create table sleeper (id int primary key);
alter table sleeper enable row level security;
create policy sleeps on sleeper for select using (doze());
create policy wakes on sleeper for select using (true);
insert into sleeper values (1), (2);

create table trace (note text);
create sequence traced;
create function leave_trace() returns boolean language plpgsql volatile security definer as $$
begin
  insert into trace values ('seen');
  perform nextval('traced');
  return true;
end $$;
create table traced_row (id int primary key);
alter table traced_row enable row level security;
create policy leaves on traced_row using (leave_trace());
insert into traced_row values (1);

create table strange ("the id" int primary key, "a ""b""" text, body text, parts jsonb, "basalt row" int);
alter table strange enable row level security;
create policy "the ""policy""" on strange using ("a ""b""" is not null and (body like '%AND%' or parts ? 'x') and strange."the id" > 0);
`

let app: TestApp
let scratch: string
let folder: string

beforeAll(async () => {
  scratch = makeScratchDirectory('access-')
  folder = join(scratch, 'tests/policies')
  app = await createProjectApp(more, {
    'project.policies': folder,
    'project.migrations': join(scratch, 'migrations'),
  })
  await app.sql(
    `insert into strange values (1, $1, 'x AND y', '{"x": [null]}', 7), (2, null, null, null, null)`,
    [hostileValue],
  )
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  rmSync(scratch, { recursive: true, force: true })
})

const explain = (body: object) => sendAccessRequest(app, 'explain', body)

describe('access › explanations of hostile policies', () => {
  test('hide no other policy when one raises, and only affect the rows that it raises on', async () => {
    const answer = await explain({ as: asAda, table: 'raising' })
    expect(matrixOf(answer)).toEqual({
      1: 'true false → true, true',
      2: 'error true → error, true',
      3: 'null false → false, false',
    })
    expect(answer.json.rows[1].stages[0].verdicts[0]).toEqual({
      value: 'error',
      message: 'division by zero',
      sqlState: '22012',
    })
    expect(answer.json.rows[1].sentence).toBe(
      'ada@example.com sees row 2, but the policy "divides" fails: division by zero (SQLSTATE 22012)',
    )
  })

  test('report policies that read their own table as recursive', async () => {
    const answer = await explain({ as: asAda, table: 'circle' })
    expect(answer.json.rows[0].stages[0].verdicts[0]).toEqual({
      value: 'error',
      message: 'infinite recursion detected in policy for relation "circle"',
      sqlState: '42P17',
    })
  })

  test('run into a time limit when policies sleep, and do not affect the others', async () => {
    const answer = await explain({ as: asAda, table: 'sleeper', ids: ['1'] })
    expect(answer.json.rows[0].stages[0].verdicts).toMatchObject([
      { value: 'error', sqlState: '57014' },
      { value: true },
    ])
    expect(
      await app.sql(
        `select count(*)::int as n from pg_stat_activity
         where datname = current_database() and query like '%doze%' and state = 'active' and pid <> pg_backend_pid()`,
      ),
    ).toEqual([{ n: 0 }])
  })

  test('are canceled while policies sleep when their client disconnects, and so are the queued ones', async () => {
    const sleeping = async () => {
      const [row] = await app.sql(
        `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
      )
      return row?.n
    }
    const policies = Array.from(
      { length: 8 },
      (_, index) => `create policy p${index} on dozing for select using (doze() or id > ${index});`,
    )
    await app.sql(`create table dozing (id int primary key); insert into dozing values (1);
      alter table dozing enable row level security; ${policies.join('\n')}`)
    const leaving = new AbortController()
    const headers = { authorization: `Bearer ${await app.adminToken()}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ as: asAda, table: 'dozing' })
    const request = Array.from({ length: 6 }, () =>
      fetch(`${app.url}/api/admin/access/explain`, { method: 'POST', headers, body, signal: leaving.signal }),
    )
    await waitFor('three of them to run', async () => (await sleeping()) === 3)
    leaving.abort()
    await Promise.allSettled(request)
    // Each would take twenty seconds.
    await waitFor('none to run', async () => (await sleeping()) === 0)
    expect((await explain({ as: asAda, table: 'raising', ids: ['1'] })).status).toBe(200)
    expect(await sleeping()).toBe(0)
  })

  test('have no effect except on sequences when policies write', async () => {
    const answer = await explain({ as: asAda, table: 'traced_row', action: 'delete', ids: ['1'] })
    expect(matrixOf(answer)).toEqual({ 1: 'true | true → true, true' })
    expect(
      await app.sql(
        'select (select count(*)::int from trace) as traces, (select count(*)::int from traced_row) as rows',
      ),
    ).toEqual([{ traces: 0, rows: 1 }])
    expect(await app.sql('select is_called from traced')).toEqual([{ is_called: true }])
  })

  test('return hostile names and values unchanged', async () => {
    const answer = await explain({ as: asBen, table: 'strange', filter: `"the id">0` })
    expect(matrixOf(answer)).toEqual({ 1: 'true → true, true', 2: 'false → false, false' })
    expect(answer.json.rows[0].shown['a "b"']).toBe(hostileValue)
    const parts = await sendAccessRequest(app, 'parts', {
      as: asBen,
      table: 'strange',
      ids: ['2'],
      policy: 'the "policy"',
      stage: 0,
    })
    expect(parts.json).toMatchObject({
      operator: 'and',
      value: false,
      terms: [
        { text: '"a ""b""" IS NOT NULL', value: false },
        { operator: 'or', value: null, terms: [{ value: null }, { value: null }] },
        { text: '"the id" > 0', value: true, sides: [{ expression: '"the id"', text: '2' }, { text: '0' }] },
      ],
    })
  })

  test('split policies of 200 terms, on a table of 1,000 columns', async () => {
    const columns = Array.from({ length: 1000 }, (_, index) => `c${index} int default ${index}`)
    const terms = Array.from({ length: 200 }, (_, index) => `c${index} = ${index === 150 ? -1 : index}`)
    await app.sql(`create table wide (id int primary key, ${columns.join(', ')})`)
    await app.sql(`alter table wide enable row level security`)
    await app.sql(`create policy long on wide using (${terms.join(' and ')})`)
    await app.sql('insert into wide (id) values (1)')
    const answer = await explain({ as: asAda, table: 'wide' })
    expect(answer.json.answer).toBe(
      'ada@example.com does not see row 1: no policy for select permits it; the closest is "long": c150 = \'-1\'::integer is false',
    )
    expect(Object.keys(answer.json.rows[0].shown).length).toBeLessThan(60)
    const parts = await sendAccessRequest(app, 'parts', {
      as: asAda,
      table: 'wide',
      ids: ['1'],
      policy: 'long',
      stage: 0,
    })
    expect(parts.json.terms).toHaveLength(200)
    expect(parts.json.terms[150]).toMatchObject({
      value: false,
      sides: [{ expression: 'c150', text: '150' }, { text: '-1' }],
    })
  })

  test('are 404 for unknown policies', async () => {
    const body = { as: asAda, table: 'project', ids: ['1'], stage: 0 }
    expect(envelope(await sendAccessRequest(app, 'parts', { ...body, policy: 'none' }))).toMatchObject({
      code: 404,
      message: 'policy "none" not found on project',
    })
    expect(
      envelope(await sendAccessRequest(app, 'parts', { ...body, ids: ['77'], policy: 'owners' })),
    ).toMatchObject({
      code: 400,
      message: 'no row of project matches',
    })
  })
})

describe('access › verdicts', () => {
  const expressions = [
    'true',
    'false',
    'null::boolean',
    'owner = basalt.user_id()',
    'n > 2',
    'n % 2 = 0 and owner is not null',
    'n in (select n from listed)',
    'exists (select from listed l where l.n = generated.n and l.who = basalt.user_email())',
    "basalt.aal() = 'aal2'",
    'generated.n = 1 or owner = basalt.user_id()',
    "label <> 'x'",
    'not (label is null)',
  ]

  /** Returns random numbers that are the same in every run (a linear congruential generator). */
  function createRandom(seed: number) {
    let state = seed
    return (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      return Math.floor((state / 2_147_483_648) * below)
    }
  }

  test('agree with the database, over generated policies, callers and actions', async () => {
    await app.sql(`
      create table listed (n int, who text);
      insert into listed values (1, 'ada@example.com'), (3, 'ben@example.com'), (4, null);
      alter table listed enable row level security;
      create policy own on listed using (who = basalt.user_email());
      create table generated (n int primary key, owner uuid, label text);
      insert into generated values (1, '${ada}', 'x'), (2, '${ben}', null), (3, null, 'y'), (4, '${ada}', 'z'), (5, '${ben}', 'x');
      alter table generated enable row level security;
      grant select on generated, listed to basalt_anonymous`)
    const random = createRandom(20_261_122)
    const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T
    const agreed = { true: 0, false: 0 }
    for (let round = 0; round < 8; round += 1) {
      const names = Array.from({ length: 1 + random(5) }, (_, index) => `p${index}`)
      const policies = names.map((name) => {
        const command = pick(['all', 'select', 'select', 'insert', 'update', 'delete'])
        const kind = random(4) === 0 ? 'restrictive' : 'permissive'
        const role = pick(['public', 'basalt_authenticated', 'basalt_anonymous'])
        const using = command === 'insert' ? '' : ` using (${pick(expressions)})`
        const takesCheck = command === 'insert' || (['all', 'update'].includes(command) && random(2) === 0)
        const check = takesCheck ? ` with check (${pick(expressions)})` : ''
        return `create policy ${name} on generated as ${kind} for ${command} to ${role}${using}${check};`
      })
      await app.sql(policies.join('\n'))
      await app.app.catalog.refresh()
      for (const as of [{ ...asAda, aal: 'aal2' }, asBen, anonymous]) {
        const actions = ['select', 'insert', 'update', 'delete']
        for (const action of as === asBen
          ? actions
          : as.kind === 'anonymous'
            ? ['select']
            : [pick(actions)]) {
          const values = action === 'insert' ? { n: 9, owner: ada, label: 'x' } : { label: 'x' }
          const answer = await explain({ as, table: 'generated', action, values })
          expect(answer.status).toBe(200)
          for (const row of answer.json.rows) {
            expect(row, `${policies.join('\n')}\n${action} ${row.sentence}`).toMatchObject({ agrees: true })
            agreed[row.actual ? 'true' : 'false'] += 1
          }
        }
      }
      await app.sql(names.map((name) => `drop policy ${name} on generated;`).join('\n'))
    }
    expect(agreed.true).toBeGreaterThan(20)
    expect(agreed.false).toBeGreaterThan(20)
  }, 120_000)

  test('are given to ten concurrent requests, and wait for no writer', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        explain({ as: asAda, table: 'project', action: 'update', ids: ['2'], values: { name: 'x' } }),
      ),
    )
    expect(answers.map(({ json }) => json.rows[0].actual)).toEqual(Array(10).fill(true))
    await waitFor('no open transaction', async () => {
      const [row] = await app.sql(
        `select count(*)::int as n from pg_stat_activity
         where datname = current_database() and state like 'idle in transaction%'`,
      )
      return row?.n === 0
    })
  })
})

describe('POST /admin/access/compare', () => {
  const compare = (body: object) => sendAccessRequest(app, 'compare', body)

  test('returns the rows that a changed policy would show and hide, for some users and without a token', async () => {
    await app.sql('grant select on project, member to basalt_anonymous')
    const answer = await compare({
      table: 'project',
      policy: { name: 'members read', using: 'team_id = 2 -- of blue' },
    })
    await app.sql('revoke select on project, member from basalt_anonymous')
    expect(answer.json).toEqual({
      policy: 'members read',
      rows: 5,
      callers: [
        { label: 'ada@example.com', shown: ['3'], hidden: ['1'], kept: 1, absent: 2, errors: [] },
        { label: 'ben@example.com', shown: ['2', '3'], hidden: [], kept: 0, absent: 3, errors: [] },
        { label: 'a request without a token', shown: ['2', '3'], hidden: [], kept: 0, absent: 3, errors: [] },
      ].toSorted(
        (one, other) => labels(answer.json).indexOf(one.label) - labels(answer.json).indexOf(other.label),
      ),
    })
  })

  test('checks the expressions of developers', async () => {
    const token = await inviteAdministrator(app, 'developer')
    const send = (policy: object) =>
      app.request('POST', '/api/admin/access/compare', { token, body: { table: 'project', policy } })
    for (const member of ['using', 'check']) {
      const refused = await send({ name: 'members read', [member]: 'pg_sleep(0) is null' })
      expect([refused.status, refused.json.message]).toEqual([
        400,
        expect.stringMatching(`^policy\\.${member}: .*not allowed for your role`),
      ])
    }
    expect((await send({ name: 'members read', using: 'team_id = 2' })).status).toBe(200)
  })

  function labels(json: { callers: { label: string }[] }) {
    return json.callers.map(({ label }) => label)
  }

  test('accepts a new policy and a dropped one, for a caller', async () => {
    const added = await compare({
      table: 'project',
      as: [asBen],
      policy: { name: 'more', using: 'true', permissive: true },
    })
    expect(added.json.callers).toEqual([
      { label: 'ben@example.com', shown: ['1', '2', '3', '5'], hidden: [], kept: 0, absent: 1, errors: [] },
    ])
    const dropped = await compare({
      table: 'project',
      as: [asAda],
      policy: { name: 'nothing hidden', drop: true },
    })
    expect(dropped.json.callers).toMatchObject([{ shown: ['4'], hidden: [] }])
  })

  test('returns who could add or change rows under another WITH CHECK', async () => {
    const request = { table: 'project', as: [asAda], action: 'insert' }
    const narrowed = await compare({ ...request, policy: { name: 'owners', check: 'false' } })
    const outcome = { label: 'ada@example.com', errors: [] }
    // Row 4 is hers, and a restrictive policy hides it from her: an added row is read, too.
    expect(narrowed.json.callers).toEqual([{ ...outcome, shown: [], hidden: ['2'], kept: 0, absent: 4 }])
    const widened = await compare({
      ...request,
      policy: { name: 'adds', command: 'INSERT', check: 'team_id = 1' },
    })
    expect(widened.json.callers).toEqual([{ ...outcome, shown: ['1'], hidden: [], kept: 1, absent: 3 }])
    const changed = await compare({
      ...request,
      action: 'update',
      policy: { name: 'owners', check: 'archived' },
    })
    expect(changed.json.callers).toEqual([{ ...outcome, shown: [], hidden: ['2'], kept: 0, absent: 4 }])
  })

  test('returns the rows that a restrictive policy hides, by caller', async () => {
    const request = { table: 'project', as: [asAda, { kind: 'anonymous' }] }
    await app.sql('grant select on project, member to basalt_anonymous')
    const policy = { name: 'few', using: 'id = 2' }
    const restricted = await compare({ ...request, policy: { ...policy, permissive: false } })
    const signedIn = await compare({ ...request, policy: { ...policy, roles: ['basalt_authenticated'] } })
    const anonymous = await compare({ ...request, policy: { ...policy, roles: ['basalt_anonymous'] } })
    const everyone = await compare({ ...request, policy: { ...policy, roles: ['public'] } })
    await app.sql('revoke select on project, member from basalt_anonymous')
    const changes = ({ json }: { json: { callers: { shown: string[]; hidden: string[] }[] } }) =>
      json.callers.map(({ shown, hidden }) => [shown, hidden])
    expect(changes(restricted)).toEqual([
      [[], ['1']],
      [[], []],
    ])
    expect(changes(signedIn)).toEqual([
      [[], []],
      [[], []],
    ])
    expect(changes(anonymous)).toEqual([
      [[], []],
      [['2'], []],
    ])
    expect(changes(everyone)).toEqual(changes(anonymous))
    const narrowed = await compare({ ...request, policy: { name: 'owners', roles: ['basalt_anonymous'] } })
    expect(changes(narrowed)[0]).toEqual([[], ['2']])
  })

  test('treats a permissive policy without USING as permitting nothing, as PostgreSQL does', async () => {
    await app.sql('create policy stores on project for update with check (true)')
    const explained = await sendAccessRequest(app, 'explain', {
      as: asAda,
      table: 'project',
      action: 'update',
      ids: ['1'],
      values: { archived: false },
    })
    await app.sql('drop policy stores on project')
    expect(explained.json.rows[0]).toMatchObject({ allowed: false, actual: false, agrees: true })
  })

  test.each<[string, object, string]>([
    ['nothing of a new policy', {}, 'policy.using: expected an expression'],
    [
      'WITH CHECK of a policy for reads',
      { check: 'true' },
      'policy.check: a policy for SELECT has policy.using alone',
    ],
    [
      'USING of a policy for inserts',
      { command: 'INSERT', using: 'true' },
      'policy.using: a policy for INSERT has policy.check alone',
    ],
    ['an insert without WITH CHECK', { command: 'INSERT' }, 'policy.check: expected an expression'],
    ['a role that does not exist', { using: 'true', roles: ['nope'] }, 'policy.roles: no role "nope"'],
  ])('rejects %s', async (_, policy, message) => {
    const answer = await compare({ table: 'project', as: [asAda], policy: { name: 'new', ...policy } })
    expect(envelope(answer)).toMatchObject({ code: 400, error: 'invalid_explanation', message })
  })

  test('changes no definition and takes no table lock', async () => {
    await app.sql('begin; lock table project in access share mode; commit')
    const before = await app.sql('select count(*)::int as n from pg_policy')
    await compare({ table: 'project', as: [asAda], policy: { name: 'owners', using: 'false' } })
    expect(await app.sql('select count(*)::int as n from pg_policy')).toEqual(before)
  })

  test.each([
    ['a clause', 'true) from pg_authid where (true', 'policy.using: expected one expression'],
    ['two expressions', 'true), (false', 'policy.using: expected one expression'],
    ['two statements', 'true); select (1', 'policy.using: expected one expression'],
    ['no SQL', 'owner_id = = 1', 'policy.using: syntax error at or near "="'],
  ])('rejects %s', async (_, using, message) => {
    const answer = await compare({ table: 'project', as: [asAda], policy: { name: 'owners', using } })
    expect(envelope(answer)).toMatchObject({ code: 400, error: 'invalid_expression', message })
  })

  test('reports the error of an expression that fails', async () => {
    const answer = await compare({
      table: 'project',
      as: [asAda],
      policy: { name: 'owners', using: 'nothing > 1' },
    })
    expect(answer.json.callers[0].errors).toEqual(['column "nothing" does not exist'])
    const unknown = await compare({ table: 'project', as: [asAda], policy: { name: 'none', drop: true } })
    expect(envelope(unknown)).toMatchObject({ code: 404, message: 'policy "none" not found on project' })
    const off = await compare({ table: 'trace', as: [asAda], policy: { name: 'p', using: 'true' } })
    expect(envelope(off)).toMatchObject({ code: 400, message: 'table: row-level security of trace is off' })
  })
})

describe('POST /admin/access/cases', () => {
  test('writes cases into the project, and basalt policy test passes with them', async () => {
    const save = (name: string, body: object) =>
      sendAccessRequest(app, 'cases', { ...body, name, save: true })
    const read = await save('ada-reads', { as: asAda, table: 'project', limit: 5 })
    expect(read.json).toMatchObject({ name: 'ada-reads.toml', path: 'tests/policies/ada-reads.toml' })
    expect(readFileSync(join(folder, 'ada-reads.toml'), 'utf8')).toBe(read.json.content)
    const as = { kind: 'claims', userId: ben, email: 'ben@example.com', emailVerified: true, aal: 'aal2' }
    await save('ben-adds', {
      as,
      table: 'project',
      action: 'insert',
      values: { name: 'new', team_id: 1, owner_id: ben },
    })
    await save('ada-changes', {
      as: asAda,
      table: 'project',
      action: 'update',
      ids: ['2', '3'],
      values: { name: 'changed' },
    })
    await save('anonymous-reads', { as: anonymous, table: 'project', ids: ['1'] })
    expect(envelope(await save('ada-reads', { as: asAda, table: 'project' }))).toMatchObject({
      code: 409,
      message: 'ada-reads.toml exists',
    })
    const directory = makeScratchDirectory('access-project-')
    mkdirSync(join(directory, 'migrations'))
    writeFileSync(join(directory, 'migrations/20260101000000_a.sql'), projectSchema)
    const env = {
      BASALT_DATABASE_URL: app.database.url,
      BASALT_AUTH_JWT_SECRET: testSecret,
      BASALT_PROJECT_POLICIES: folder,
    }
    const tested = await basaltHere(['policy', 'test'], { directory, env })
    rmSync(directory, { recursive: true, force: true })
    expect(tested).toMatchObject({ code: 0 })
    expect(readdirSync(folder)).toHaveLength(4)
  }, 120_000)

  test('returns cases without a file, with a chosen expectation, and with hostile values', async () => {
    const body = { as: asAda, table: 'strange', ids: ['1'], name: 'x', expect: 'refused' }
    const { content, path } = (await sendAccessRequest(app, 'cases', body)).json
    expect(path).toBeNull()
    expect(content).toContain('refused = true')
    expect(content).toContain('\\\\u0001'.slice(1))
    expect(envelope(await sendAccessRequest(app, 'cases', { ...body, ids: ['9'] }))).toMatchObject({
      code: 400,
      message: 'a case needs a row; no row matches',
    })
    for (const name of ['../x', 'A', '', 'x.toml']) {
      expect((await sendAccessRequest(app, 'cases', { ...body, name })).status).toBe(400)
    }
  })
})
