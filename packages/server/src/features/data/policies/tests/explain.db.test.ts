import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { createClient } from '../../../../../test/oauth.ts'
import { envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { defaultAppId } from '../../../../http/access/identity.ts'
import {
  ada,
  anonymous,
  asAda,
  asBen,
  ben,
  createProjectApp,
  matrixOf,
  sendAccessRequest,
  stopsOf,
} from './projects.ts'

const more = `
create table open_note (id int primary key, body text);
insert into open_note values (1, 'x');
create view project_name as select id, name from project;
create schema hidden;
create table hidden.secret (id int primary key);
alter table hidden.secret enable row level security;
create table withheld (id int primary key, secret text);
alter table withheld enable row level security;
create policy everything on withheld using (true);
revoke all on withheld from basalt_authenticated;
create table pair (a int, b text, primary key (a, b));
alter table pair enable row level security;
create policy of_a on pair using (a = 1);
insert into pair values (1, 'x,y'), (2, 'z');
create table unruled (id int primary key);
alter table unruled enable row level security;
insert into unruled values (1);
insert into withheld values (1, 'x');
create table addable (id int primary key);
insert into addable values (1);
grant insert on addable to basalt_anonymous;
`

let app: TestApp
const explain = (body: object) => sendAccessRequest(app, 'explain', body)

beforeAll(async () => {
  app = await createProjectApp(more)
})
afterAll(() => app[Symbol.asyncDispose]())

describe('POST /admin/access/explain', () => {
  test('returns the verdict of each policy on each row, and the result of the database', async () => {
    const answer = await explain({ as: asAda, table: 'project' })
    expect(answer.status).toBe(200)
    expect(answer.json.policies.map(({ name }: { name: string }) => name)).toEqual([
      'members read',
      'nothing hidden',
      'owners',
    ])
    expect(matrixOf(answer)).toEqual({
      1: 'true true null → true, true',
      2: 'false true true → true, true',
      3: 'false true null → false, false',
      4: 'true false true → false, false',
      5: 'null true null → false, false',
    })
    expect(answer.json.rows.map(({ sentence }: { sentence: string }) => sentence)).toEqual([
      'ada@example.com sees row 1: "members read" permits it',
      'ada@example.com sees row 2: "owners" permits it',
      'ada@example.com does not see row 3: no policy for select permits it; the closest is "members read": team_id IN ( SELECT member.team_id FROM member WHERE (member.user_id = basalt.user_id())) is false',
      'ada@example.com does not see row 4: the restrictive policy "nothing hidden" is false',
      'ada@example.com does not see row 5: no policy for select permits it',
    ])
    expect(answer.json.answer).toBe(answer.json.rows[2].sentence)
    expect(answer.json.reads.map(({ sentence }: { sentence: string }) => sentence)).toEqual([
      '"members read" reads member, of which this caller sees 1 row',
    ])
    expect(answer.json.caller).toEqual({
      label: 'ada@example.com',
      kind: 'user',
      role: 'basalt_authenticated',
      settings: {
        'basalt.user_id': ada,
        'basalt.user_email': 'ada@example.com',
        'basalt.email_verified': 'true',
        'basalt.aal': 'aal1',
        'basalt.is_anonymous': 'false',
        'basalt.session_id': '',
        'basalt.custom_claims': '',
      },
      grant: null,
    })
  })

  test('returns the statement that production sends, with its plans and a psql script', async () => {
    const answer = await explain({ as: asAda, table: 'project', filter: "name='own'", plan: 'analyze' })
    const { statement, plans, psql } = answer.json
    expect(statement.text).toContain('from "public"."project"')
    expect(statement.values).toEqual(['own'])
    expect(statement.outcome).toEqual({ status: 200 })
    expect(plans.withPolicies.plan.Plan['Actual Rows']).toBe(1)
    expect(JSON.stringify(plans.withPolicies)).toContain('current_setting')
    expect(JSON.stringify(plans.withoutPolicies)).not.toContain('current_setting')
    expect(psql).toMatch(/^begin;\nselect set_config\('role', 'basalt_authenticated', true\)/)
    expect(psql).toContain("= 'own'")
    expect(psql).not.toContain('$1')
    const rows = await app.sql(psql.replaceAll(/^(begin|rollback);$/gm, '').split(';\n')[0] ?? '')
    expect(rows).toHaveLength(1)
  })

  test('finds rows by their keys, composite ones included, and sends the read of one', async () => {
    const one = await explain({ as: asAda, table: 'project', ids: ['3'] })
    expect(matrixOf(one)).toEqual({ 3: 'false true null → false, false' })
    expect(one.json.statement.outcome).toEqual({
      status: 404,
      error: 'record_not_found',
      message: 'record not found',
    })
    const pair = await explain({ as: asAda, table: 'pair', ids: ['1,x%2Cy', '2,z'] })
    expect(matrixOf(pair)).toEqual({ '1,x%2Cy': 'true → true, true', '2,z': 'false → false, false' })
    for (const ids of [['77'], []]) {
      const none = await explain({ as: asAda, table: 'project', ids })
      expect(none.json.answer).toBe('no row of project matches; 3 policies apply to ada@example.com')
    }
  })

  test('runs an insert through the data API and undoes it', async () => {
    const answer = await explain({
      as: asAda,
      table: 'project',
      action: 'insert',
      values: [{ name: 'mine', owner_id: ada }, { name: 'forbidden', owner_id: ada }, { name: '' }],
    })
    expect(answer.json.stages.map(({ name }: { name: string }) => name)).toEqual([
      'add the row',
      'read the new row',
    ])
    expect(answer.json.rows.map(({ sentence }: { sentence: string }) => sentence)).toEqual([
      'ada@example.com adds the row: "owners" permits it',
      'ada@example.com does not add the row: no policy for insert (to add the row) permits it; the closest is "owners": name <> \'forbidden\'::text is false',
      'ada@example.com does not add the row: 403 insufficient permissions; without policies: 400 check constraint violation',
    ])
    expect(answer.json.rows.map(({ allowed, actual, agrees }: never) => [allowed, actual, agrees])).toEqual([
      [true, true, true],
      [false, false, true],
      [undefined, false, undefined],
    ])
    expect(answer.json.rows[0].shown).toMatchObject({ name: 'mine', owner_id: ada, archived: 'false' })
    expect(answer.json.remains).toEqual(['numbers that sequences have given'])
    expect(await app.sql('select count(*)::int as n from project')).toEqual([{ n: 5 }])
    expect(await app.sql('select count(*)::int as n from basalt.outbox')).toEqual([{ n: 0 }])
  })

  test('tests the row before an update and after it', async () => {
    const answer = await explain({
      as: asAda,
      table: 'project',
      action: 'update',
      ids: ['1', '2', '4'],
      values: { name: 'forbidden' },
    })
    expect(answer.json.stages.map(({ name }: { name: string }) => name)).toEqual([
      'read the row',
      'change the row',
      'store the changed row',
      'read the changed row',
    ])
    expect(matrixOf(answer)).toEqual({
      1: 'true true null | null | false | true true null → false, false',
      2: 'false true true | true | false | false true true → false, false',
      4: 'true false true | true | false | true true true → false, false',
    })
    expect(answer.json.rows.map(({ answer: { status } }: { answer: { status: number } }) => status)).toEqual([
      404, 403, 404,
    ])
    expect(await app.sql(`select count(*)::int as n from project where name = 'forbidden'`)).toEqual([
      { n: 0 },
    ])
  })

  test('tests whether a row may be deleted, and keeps it', async () => {
    const answer = await explain({ as: asAda, table: 'project', action: 'delete', ids: ['1', '2'] })
    expect(matrixOf(answer)).toEqual({
      1: 'true true null | null → false, false',
      2: 'false true true | true → true, true',
    })
    expect(answer.json.rows[1].sentence).toBe('ada@example.com deletes row 2: "owners" permits it')
    expect(await app.sql('select count(*)::int as n from project')).toEqual([{ n: 5 }])
  })

  test('examines claims, with a session and a second factor', async () => {
    const sessionId = '00000000-0000-4000-8000-0000000000ff'
    const as = { kind: 'claims', userId: ada.toUpperCase(), email: 'x@example.com', aal: 'aal2', sessionId }
    const answer = await explain({ as, table: 'project', ids: ['2'] })
    expect(answer.json.caller.settings).toMatchObject({
      'basalt.user_id': ada,
      'basalt.user_email': 'x@example.com',
      'basalt.email_verified': 'false',
      'basalt.aal': 'aal2',
      'basalt.session_id': sessionId,
    })
    expect(matrixOf(answer)).toEqual({ 2: 'false true true → true, true' })
  })

  test('reports that row-level security is off, and that a view has no policies', async () => {
    const open = await explain({ as: asBen, table: 'open_note' })
    expect(open.json.answer).toBe('ben@example.com sees row 1: row-level security is off')
    const view = await explain({ as: asBen, table: 'project_name' })
    expect(view.status).toBe(200)
    expect(view.json.gates.at(-1).sentence).toContain('a view has no policies of its own')
    const write = await explain({ as: asBen, table: 'project_name', action: 'insert', values: {} })
    expect(stopsOf(write)).toEqual(['exposed: 405 write operations not allowed on view'])
  })
})

describe('access gates', () => {
  test('report a missing grant of a request without a token', async () => {
    const answer = await explain({ as: anonymous, table: 'project', ids: ['1'] })
    expect(stopsOf(answer)).toEqual([
      'exposed: 401 missing or invalid authorization header',
      'grant: basalt_anonymous, the role of a request without a token, lacks a privilege: grant select on public.project to basalt_anonymous',
    ])
    expect(answer.json.rows[0].agrees).toBeUndefined()
  })

  test('report a missing privilege of the role, and the verdicts of the policies', async () => {
    const answer = await explain({ as: asAda, table: 'withheld', action: 'insert', values: { id: 2 } })
    expect(stopsOf(answer)).toEqual([
      'grant: basalt_authenticated, the role of ada@example.com, lacks a privilege: grant select, insert on public.withheld to basalt_authenticated',
    ])
    expect(matrixOf(answer)).toEqual({ new: 'true | true → true, false' })
  })

  test('report a schema that is not exposed', async () => {
    const answer = await explain({ as: asAda, table: 'hidden.secret' })
    expect(answer.json.answer).toBe(
      'ada@example.com is stopped before the policies of hidden.secret: 404 collection not found: hidden.secret; the schema hidden is not one of database.schemas',
    )
  })

  test('report the limits of a key', async () => {
    const { apiKey } = await createApiKey(app, { userId: ada, scope: 'readonly', allowedTables: ['team'] })
    const as = { kind: 'key', id: apiKey.id }
    const answer = await explain({ as, table: 'project', action: 'delete', ids: ['2'] })
    expect(stopsOf(answer)).toEqual([
      'scope: 403 api key scope does not permit write operations',
      'tables of the grant: 403 api key does not have access to table: project',
    ])
    expect(answer.json.caller.label).toBe('API key "key" of ada@example.com')
    expect(answer.json.caller.grant).toEqual({ mayWrite: false, tables: ['team'] })
    await app.request('DELETE', `/api/admin/api-keys/${apiKey.id}`, { token: await app.adminToken() })
    expect(stopsOf(await explain({ as, table: 'team' }))).toEqual(['key: the key is revoked'])
  })

  test('report a missing grant of a client', async () => {
    const { clientId } = await createClient(app, { appId: defaultAppId })
    const as = { kind: 'client', clientId, id: ada }
    const answer = await explain({ as, table: 'project', ids: ['2'] })
    expect(stopsOf(answer)).toEqual(['consent: the client has no grant in force: it has no token to present'])
    expect(answer.json.caller.label).toBe('OAuth client "Client" for ada@example.com')
    const wide = await explain({ as: { ...as, scope: '*', tables: ['team'] }, table: 'project' })
    expect(wide.json.caller.grant).toEqual({ mayWrite: true, tables: ['team'] })
  })

  test('report a disabled account', async () => {
    await app.sql(`update basalt.users set disabled_at = now() where id = '${ben}'`)
    const answer = await explain({ as: asBen, table: 'project' })
    await app.sql(`update basalt.users set disabled_at = null where id = '${ben}'`)
    expect(stopsOf(answer)).toEqual(['account: the account of ben@example.com is disabled'])
  })
})

describe('access explanations', () => {
  const methods = { list: 'GET', get: 'GET', insert: 'POST', update: 'PATCH', delete: 'DELETE' } as const
  type Sent = keyof typeof methods
  const actions: readonly Sent[] = ['list', 'get', 'insert', 'update', 'delete']
  const values = { id: 1 }
  /** Returns the API's response to the same request with a token, in short. */
  async function requestItself(table: string, action: Sent, token: string | undefined): Promise<object> {
    const isOne = action !== 'list' && action !== 'insert'
    const answer = await app.request(methods[action], `/api/collections/${table}${isOne ? '/1' : ''}`, {
      ...(token === undefined ? {} : { token }),
      ...(action === 'insert' || action === 'update' ? { body: values } : {}),
    })
    const { status, json } = answer
    return status < 300 ? { status: 200 } : { status, error: json.error, message: json.message }
  }
  const bodyOf = (action: Sent) => ({
    action: action === 'list' || action === 'get' ? 'select' : action,
    ...(action === 'list' || action === 'insert' ? {} : { ids: ['1'] }),
    ...(action === 'insert' || action === 'update' ? { values } : {}),
  })

  /**
   * Returns the API's response to each action, after checking that the explanation says the same of the request and
   * of its row.
   */
  async function answersOf(as: object, table: string, token: string | undefined): Promise<number[]> {
    const statuses: number[] = []
    for (const action of actions) {
      const explained = await explain({ as, table, ...bodyOf(action) })
      const { data: _, ...outcome } = explained.json.statement.outcome
      const request = `${table} ${action}`
      const expected = await requestItself(table, action, token)
      expect({ request, ...outcome }).toEqual({ request, ...expected })
      const { data: __, ...answer } = explained.json.rows[0].answer ?? outcome
      expect({ request, ...answer }).toEqual({ request, ...expected })
      statuses.push(outcome.status)
    }
    return statuses
  }

  test('agree with the request itself: without a token, without a grant, without a policy', async () => {
    const token = userToken({ sub: ada })
    expect(await answersOf(anonymous, 'unruled', undefined)).toEqual([401, 401, 401, 401, 401])
    expect(await answersOf(asAda, 'withheld', token)).toEqual([403, 403, 403, 403, 403])
    expect(await answersOf(asAda, 'unruled', token)).toEqual([200, 404, 403, 404, 404])
    const read = await explain({ as: asAda, table: 'unruled' })
    expect(read.json.rows[0]).toMatchObject({ actual: false, agrees: true })
    expect(read.json.rows[0].answer).toBeUndefined()
  })

  test('agree with the request itself where the grant is for another action', async () => {
    expect(await answersOf(anonymous, 'addable', undefined)).toEqual([401, 401, 403, 401, 401])
  })

  test('agree with the request itself for a key that may not write, of another table, or revoked', async () => {
    const make = (scope: string, tables: string[]) =>
      createApiKey(app, { userId: ada, scope, allowedTables: tables })
    const reading = await make('readonly', [])
    const readingAs = { kind: 'key', id: reading.apiKey.id }
    expect(await answersOf(readingAs, 'unruled', reading.key)).toEqual([200, 404, 403, 403, 403])
    const other = await make('readwrite', ['team'])
    const otherAs = { kind: 'key', id: other.apiKey.id }
    expect(await answersOf(otherAs, 'unruled', other.key)).toEqual([403, 403, 403, 403, 403])
    await app.request('DELETE', `/api/admin/api-keys/${other.apiKey.id}`, { token: await app.adminToken() })
    expect(await answersOf(otherAs, 'unruled', other.key)).toEqual([401, 401, 401, 401, 401])
  })
})

describe('access requests', () => {
  const refused: readonly [string, object, number, string][] = [
    [
      'a user without id and email',
      { as: { kind: 'user' }, table: 'project' },
      400,
      'as: expected id or email of the user',
    ],
    ['an unknown user', { as: { kind: 'user', id: 'x' }, table: 'project' }, 404, 'user not found'],
    ['an unknown key', { as: { kind: 'key', id: ada }, table: 'project' }, 404, 'API key not found'],
    [
      'an unknown client',
      { as: { kind: 'client', clientId: 'x' }, table: 'project' },
      404,
      'OAuth client not found',
    ],
    [
      'claims without a user',
      { as: { kind: 'claims' }, table: 'project' },
      400,
      'as.userId: expected a UUID',
    ],
    [
      'claims that no token carries',
      { as: { kind: 'claims', userId: 'x' }, table: 'project' },
      400,
      'as: expected claims that an access token can carry',
    ],
    ['an unknown table', { as: anonymous, table: 'nothing' }, 404, 'collection not found: nothing'],
    [
      'an insert without values',
      { as: asAda, table: 'project', action: 'insert' },
      400,
      'values: expected the record to add',
    ],
    [
      'an update with a list',
      { as: asAda, table: 'project', action: 'update', values: [] },
      400,
      'values: expected an object with what changes',
    ],
    ['a wrong key', { as: asAda, table: 'pair', ids: ['1'] }, 400, 'invalid primary key: expected 2 values'],
  ]
  test.each(refused)('are rejected with %s', async (_, body, status, message) => {
    const answer = await explain(body)
    expect(envelope(answer)).toMatchObject({ code: status, message })
  })

  test('are rejected with an unknown kind or field', async () => {
    for (const body of [
      { as: { kind: 'admin' }, table: 'project' },
      { as: anonymous, table: 'project', rows: 1 },
    ]) {
      expect((await explain(body)).status).toBe(400)
    }
    expect((await explain({ as: asAda, table: 'project', filter: 'name=' })).json.error).toBe(
      'invalid_filter',
    )
  })

  test('require an administrator, and leave an audit entry without values', async () => {
    for (const endpoint of ['explain', 'parts', 'compare', 'cases']) {
      const token = userToken({ sub: ada })
      const answer = await app.request('POST', `/api/admin/access/${endpoint}`, { token, body: {} })
      expect(envelope(answer)).toMatchObject({ error: 'admin_required' })
    }
    await explain({ as: asAda, table: 'project', filter: "name='own'" })
    const [row] = await app.sql(
      `select actor, action, target, detail from basalt.audit where action like 'access.%' order by id desc limit 1`,
    )
    expect(row).toEqual({
      actor: 'admin',
      action: 'access.explain',
      target: 'project',
      detail: { as: [`user ${ada}`], action: 'select' },
    })
    expect(app.log.join('\n')).not.toContain('of blue')
  })
})
