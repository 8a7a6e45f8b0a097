import { afterAll, beforeAll, expect, test } from 'vitest'
import { alice } from '../../../test/fixtures.ts'
import { createTestApp, createTestDatabase, type TestDatabase, userToken } from '../../../test/test-app.ts'
import { startTransactionPooler } from '../../../test/transaction-pooler.ts'
import { waitFor } from '../../../test/wait-for.ts'

let database: TestDatabase
let pooler: Awaited<ReturnType<typeof startTransactionPooler>>

/** Database with PostgreSQL's default, where it was built with LLVM. */
const setup = `
  do $$ begin execute format('alter database %I set jit to on', current_database()); end $$;
  create table note (id int primary key);
  create view compilation as select current_setting('jit') as jit;
  create table queued (jit text);
  create function record_compilation() returns trigger language plpgsql security definer
    as $$ begin insert into public.queued values (current_setting('jit')); return null; end $$;
  create trigger record_compilation after insert on basalt.webhook_queue execute function record_compilation()`

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(setup)
  const { port, username: user, pathname } = new URL(database.url)
  pooler = await startTransactionPooler({
    target: Number(port),
    user,
    database: pathname.slice(1),
    sessions: 3,
  })
})
afterAll(async () => {
  await pooler?.[Symbol.asyncDispose]()
  await database?.[Symbol.asyncDispose]()
})

test.each(['directly', 'through a transaction pooler'])(
  'compilation › never runs for a server that connects %s, neither in requests nor in the relay',
  async (way) => {
    const url = new URL(database.url)
    if (way !== 'directly') url.port = String(pooler.port)
    await database.sql('truncate note, queued; truncate basalt.webhooks cascade')
    await using app = await createTestApp({ database, config: { 'database.url': url.href } })
    const admin = await app.adminToken()
    const hook = { url: 'http://127.0.0.1:9/', secret: 'a secret', tables: ['note'] }
    expect((await app.request('POST', '/api/webhooks', { token: admin, body: hook })).status).toBe(201)

    const token = userToken({ sub: alice })
    const { json } = await app.request('GET', '/api/collections/compilation?skipTotal=true', { token })
    expect(json.items).toEqual([{ jit: 'off' }])

    const created = await app.request('POST', '/api/collections/note', { token, body: { id: 1 } })
    expect(created.status).toBe(201)
    const queued = () => database.sql<{ jit: string }>('select jit from queued')
    await waitFor('the relay to queue a delivery', async () => (await queued()).length > 0)
    expect(await queued()).toEqual([{ jit: 'off' }])
  },
)
