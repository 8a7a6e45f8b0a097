import { expect, test } from 'vitest'
import { alice } from '../../../server/test/fixtures.ts'
import { startServer } from '../../../server/test/server-process.ts'
import { createTestDatabase, userToken } from '../../../server/test/test-app.ts'
import { testSecret } from '../../../server/test/test-config.ts'
import { findFreePort } from '../../../server/test/throw-away-cluster.ts'
import { waitFor } from '../../../server/test/wait-for.ts'
import { createClient } from '../index.ts'

interface Database {
  tables: {
    entry: {
      Row: { id: number; title: string; count: number }
      Insert: { title: string }
      Update: { count?: number }
      Key: [number]
      Relations: Record<never, never>
    }
  }
  enums: Record<never, never>
  procedures: Record<never, never>
}

test('client › applies each write once while the server is restarted and killed', async () => {
  await using database = await createTestDatabase()
  await database.sql(`
    create table entry (id int primary key generated always as identity, title text not null, count int not null default 0);
    alter table entry enable row level security;
    create policy own on entry using (true);
    create function add_one() returns trigger language plpgsql as $$ begin new.count := old.count + 1; return new; end $$;
    create trigger add_one before update on entry for each row execute function add_one()`)
  const port = String(await findFreePort())
  const config = { 'database.url': database.url, 'auth.jwt_secret': testSecret, 'server.port': port }
  let server = await startServer({ config })
  // The machine of the tests may take long to start a server.
  const client = createClient<Database>({
    url: server.url,
    auth: userToken({ sub: alice }),
    retryForMs: 300_000,
  })

  let isOver = false
  const written: string[] = []
  async function write(name: string): Promise<void> {
    for (let number = 0; !isOver; number += 1) {
      const title = `${name} ${number}`
      const { id } = await client.from('entry').create({ title })
      await client.from('entry').update(id, { count: 0 })
      written.push(title)
    }
  }
  const writers = ['ada', 'bob', 'eve', 'joe'].map(write)
  try {
    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
      const before = written.length
      await waitFor('some writes', () => written.length >= before + 40)
      await server.stop(signal)
      server = await startServer({ config })
    }
  } finally {
    isOver = true
    await Promise.all(writers)
    await server[Symbol.asyncDispose]()
  }
  // The rows are in the order of each writer, with no write missing or twice.
  const rows = await database.sql<{ title: string; count: number }>(
    'select title, count from entry order by title',
  )
  expect(rows).toEqual(written.sort().map((title) => ({ title, count: 1 })))
})
