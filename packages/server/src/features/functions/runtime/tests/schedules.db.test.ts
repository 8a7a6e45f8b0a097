import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const imports = `import { schedule } from '@basaltdb/functions'\n`
const setup = `
create table run (id int generated always as identity primary key, note text not null);
alter table run enable row level security;
`
const files = {
  'reports.ts': `${imports}
    const note = (text) => async (ctx) => {
      await ctx.db.run.create({ note: JSON.stringify([text, ctx.attempt, ctx.user ?? null, ctx.claims.kind]) })
      if (text === 'flaky' && ctx.attempt === 1) throw new Error('not yet')
    }
    export const nightly = schedule('0 3 * * *', { timezone: 'Europe/Berlin' }, note('nightly'))
    export const flaky = schedule('30 4 1 * *', { retries: 1, timeout: 5 }, note('flaky'))
    export default schedule('0 0 * * sun', note('weekly'))
  `,
}

let database: TestDatabase
let folder: FunctionsFolder
let first: TestApp
let second: TestApp

beforeAll(async () => {
  folder = makeFunctionsFolder(files)
  database = await createTestDatabase()
  await database.sql(setup)
  const config = { 'functions.folder': folder.path }
  first = await createTestApp({ database, config })
  second = await createTestApp({ database, config })
})
afterAll(async () => {
  for (const node of [second, first]) await node?.[Symbol.asyncDispose]()
  folder?.[Symbol.dispose]()
  await database?.[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await database.sql('truncate run; delete from basalt.jobs')
  for (const node of [first, second]) await node.app.functions.loadFolder(folder.path)
  await untilNames(['function:flaky', 'function:nightly', 'function:reports'])
})

async function list() {
  const response = await first.request('GET', '/api/admin/schedules', { token: await first.adminToken() })
  return response.json.items.filter(({ isOfFunction }: { isOfFunction: boolean }) => isOfFunction)
}
async function find(name: string) {
  return (await list()).find((each: { name: string }) => each.name === `function:${name}`)
}
const untilNames = (names: readonly string[]) =>
  waitFor(`the schedules ${names}`, async () => {
    const found = (await list()).map(({ name }: { name: string }) => name)
    return JSON.stringify(found) === JSON.stringify(names)
  })
const makeDue = (name: string) =>
  database.sql(`update basalt.schedules set next_run_at = now() where name = $1`, [`function:${name}`])
const notes = async () =>
  (await database.sql<{ note: string }>('select note from run order by id')).map(({ note }) =>
    JSON.parse(note),
  )
const runs = async (name: string) =>
  await database.sql<{ id: string; state: string }>('select id, state from basalt.jobs where type = $1', [
    `function:${name}`,
  ])

describe('schedules of functions', () => {
  test('are in the list, with the times of the functions', async () => {
    const common = { payload: {}, enabled: true, isOfFunction: true }
    expect(await list()).toMatchObject([
      { ...common, name: 'function:flaky', cronExpr: '30 4 1 * *', timezone: 'UTC', maxAttempts: 2 },
      {
        ...common,
        name: 'function:nightly',
        cronExpr: '0 3 * * *',
        timezone: 'Europe/Berlin',
        maxAttempts: 5,
      },
      { ...common, name: 'function:reports', cronExpr: '0 0 * * sun', timezone: 'UTC', maxAttempts: 5 },
    ])
    const { nextRunAt } = await find('nightly')
    const hour = new Intl.DateTimeFormat('en', {
      timeZone: 'Europe/Berlin',
      hour: 'numeric',
      hourCycle: 'h23',
    })
    expect(hour.format(new Date(nextRunAt))).toBe('03')
  })

  test('run once for each time on two nodes, as the administrator', async () => {
    await makeDue('nightly')
    await waitFor('the run', async () => (await runs('nightly')).some(({ state }) => state === 'completed'))
    await makeDue('nightly')
    await waitFor('both runs', async () => (await notes()).length === 2)
    expect(await notes()).toEqual(Array(2).fill(['nightly', 1, null, 'administrator']))
    expect(await runs('nightly')).toHaveLength(2)
  })

  test('are attempted again after a failure', async () => {
    await makeDue('flaky')
    const [job] = await waitFor('the failure', async () => {
      const found = await database.sql<{ id: string }>(
        `select id from basalt.jobs where type = 'function:flaky' and state = 'queued' and attempts = 1`,
      )
      return found.length === 1 ? found : undefined
    })
    await database.sql('update basalt.jobs set run_at = now() where id = $1', [job?.id])
    await makeDue('nightly')
    await waitFor('both', async () => (await notes()).length === 2)
    expect(await notes()).toContainEqual(['flaky', 2, null, 'administrator'])
  })

  test('can only be enabled and disabled through the API', async () => {
    const token = await first.adminToken()
    const { id } = await find('nightly')
    const path = `/api/admin/schedules/${id}`
    for (const refused of [
      await first.request('PUT', path, { token, body: { cronExpr: '* * * * *' } }),
      await first.request('PUT', path, { token, body: { payload: {}, enabled: true } }),
      await first.request('DELETE', path, { token }),
    ])
      expect(envelope(refused)).toMatchObject({ code: 409, error: 'schedule_of_function' })
    expect((await first.request('POST', `${path}/disable`, { token })).json.enabled).toBe(false)
    for (const node of [first, second]) await node.app.functions.loadFolder(folder.path)
    expect(await find('nightly')).toMatchObject({ enabled: false, nextRunAt: null })
    expect((await first.request('POST', `${path}/enable`, { token })).json.enabled).toBe(true)
  })

  test('follow the functions: a deploy changes and removes them, and keeps the next run of others', async () => {
    const before = await find('nightly')
    using next = makeFunctionsFolder({
      'reports.ts': `${imports}
        export const nightly = schedule('0 3 * * *', { timezone: 'Europe/Berlin', retries: 0 }, () => {})
        export const flaky = schedule('0 5 1 * *', () => {})`,
    })
    for (const node of [first, second]) await node.app.functions.loadFolder(next.path)
    await untilNames(['function:flaky', 'function:nightly'])
    expect(await find('nightly')).toMatchObject({
      id: before.id,
      nextRunAt: before.nextRunAt,
      maxAttempts: 1,
    })
    expect(await find('flaky')).toMatchObject({ cronExpr: '0 5 1 * *' })
    first.app.functions.unload()
    await untilNames([])
  })

  test('are not replaced by a node whose deploy is no longer live, or that has no functions', async () => {
    using old = makeFunctionsFolder({
      'old.ts': `${imports}export const old = schedule('* * * * *', () => {})`,
    })
    await database.sql("insert into basalt.sql_job_types (type, max_attempts) values ('of_others', 1)")
    await second.app.functions.loadFolder(old.path, 'f'.repeat(64))
    await using bare = await createTestApp({
      database,
      config: { 'functions.folder': `${folder.path}-missing` },
    })
    await bare.request('GET', '/api/health')
    await makeDue('nightly')
    await waitFor('the run', async () => (await notes()).length === 1)
    await untilNames(['function:flaky', 'function:nightly', 'function:reports'])
    expect(
      await database.sql("delete from basalt.sql_job_types where type = 'of_others' returning type"),
    ).toHaveLength(1)
  })

  test('are recorded later when their name is free, which holds up no function for changes', async () => {
    await database.sql(`insert into basalt.schedules (name, job_type, cron_expr, timezone, max_attempts, next_run_at)
      values ('function:later', 'job_retention', '0 0 1 1 *', 'UTC', 1, now() + interval '1 day')`)
    using next = makeFunctionsFolder({
      'later.ts': `import { after, schedule } from '@basaltdb/functions'
        export const later = schedule('0 3 * * *', () => {})
        export const changed = after('run', 'create', () => {})`,
    })
    for (const node of [first, second]) await node.app.functions.loadFolder(next.path)
    await waitFor('the function for changes', async () => {
      const found = await database.sql(
        "select from basalt.webhooks where enabled and function_name = 'changed'",
      )
      return found.length === 1
    })
    await database.sql("delete from basalt.schedules where name = 'function:later'")
    await untilNames(['function:later'])
  })

  test('are loaded again when the process ended while it loaded them, and others are served', async () => {
    using next = makeFunctionsFolder({
      'late.ts': `${imports}
        import { existsSync } from 'node:fs'
        if (!existsSync(new URL('ready.txt', import.meta.url))) process.exit(1)
        export const late = schedule('0 3 * * *', () => {})`,
    })
    await expect(first.app.functions.loadFolder(next.path)).rejects.toThrow()
    next.write('ready.txt', '')
    await untilNames(['function:late'])
  })

  test('are repeated when kill -9 ends their process', async () => {
    using next = makeFunctionsFolder({
      'reports.ts': `${imports}export const killed = schedule('0 3 * * *', async (ctx) => {
        await ctx.db.run.create({ note: JSON.stringify(ctx.attempt) })
        if (ctx.attempt === 1) process.kill(process.pid, 'SIGKILL')
        if (ctx.attempt === 1) await new Promise(() => {})
      })`,
    })
    for (const node of [first, second]) await node.app.functions.loadFolder(next.path)
    await untilNames(['function:killed'])
    await makeDue('killed')
    await waitFor('the failure', async () => (await runs('killed'))[0]?.state === 'queued')
    await database.sql(`update basalt.jobs set run_at = now() where type = 'function:killed'`)
    await waitFor('the second attempt', async () => (await runs('killed'))[0]?.state === 'completed')
    expect(await notes()).toEqual([2])
  })

  test.each([
    ['a faulty expression', `schedule('0 30 3 * * *', () => {})`, 'wrong.ts: wrong: invalid cron expression'],
    [
      'a day that no year has',
      `schedule('0 0 30 2 *', () => {})`,
      'wrong.ts: wrong: invalid cron expression',
    ],
    ['an unknown time zone', `schedule('0 3 * * *', { timezone: 'Mars' }, () => {})`, 'invalid timezone'],
    ['a wrong option', `schedule('0 3 * * *', { retries: 100 }, () => {})`, 'retries must be an integer'],
  ])('are refused for %s', async (_name, text, message) => {
    using wrong = makeFunctionsFolder({ 'wrong.ts': `${imports}export const wrong = ${text}` })
    await expect(first.app.functions.loadFolder(wrong.path)).rejects.toThrow(message)
  })
})
