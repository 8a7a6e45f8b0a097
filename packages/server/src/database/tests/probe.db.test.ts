import { expect, test } from 'vitest'
import { connectTo } from '../../../test/connections.ts'
import { createTestDatabase } from '../../../test/test-app.ts'
import { probeEngine } from '../connection/probe.ts'

test('probe › returns version, names and privileges', async () => {
  await using database = await createTestDatabase()
  const [server] = await database.sql<{ version: string }>(
    `select current_setting('server_version') as version`,
  )
  const connection = await connectTo(database)
  expect(await probeEngine(connection)).toEqual({
    version: server?.version.split(' ')[0],
    isPooled: false,
    database: new URL(database.url).pathname.slice(1),
    loginRole: 'postgres',
    bypassesPolicies: true,
    transactions: 'message',
    isDistributed: false,
  })
  await connection.close()
})

test.each([
  ['an ordinary role', 'login', false],
  ['a role that bypasses policies', 'login bypassrls', true],
])('probe › returns the privileges of %s', async (_, attributes, bypassesPolicies) => {
  await using database = await createTestDatabase()
  const role = `probe_${bypassesPolicies}`
  await database.sql(`create role ${role} ${attributes}`)
  const connection = await connectTo(database, { user: role })
  expect(await probeEngine(connection)).toMatchObject({ loginRole: role, bypassesPolicies })
  await connection.close()
  await database.sql(`drop role ${role}`)
})
