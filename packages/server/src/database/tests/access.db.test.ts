import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startThrowAwayCluster, type ThrowAwayCluster } from '../../../test/throw-away-cluster.ts'
import { prepareAccess } from '../access.ts'
import { Connection } from '../connection.ts'
import { migrate } from '../migrate.ts'

let cluster: ThrowAwayCluster

beforeAll(async () => {
  cluster = await startThrowAwayCluster()
})
afterAll(() => cluster[Symbol.asyncDispose]())

/** What a starting node does with the database, on connections that are open when the others' are. */
async function prepareAtOnce(databases: readonly string[], login: string): Promise<unknown[]> {
  const connections = await Promise.all(
    databases.map((database) =>
      Connection.open({
        url: `postgresql://${login}@127.0.0.1:${cluster.port}/${database}`,
        applicationName: 'test',
        settings: {},
        prepare: false,
        connectTimeoutMs: 10_000,
      }),
    ),
  )
  // Migrated before, so that none of them comes late because it had to wait for the migrations.
  await Promise.all(connections.map(migrate))
  const results = await Promise.allSettled(
    connections.map((connection) => prepareAccess(connection, ['public'])),
  )
  await Promise.all(connections.map((connection) => connection.close()))
  return results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []))
}

describe('start on an empty database', () => {
  // The role of this name needs a search path of its own, and gets it by `alter role … in database … set`.
  test.each(['basalt', 'app'])(
    'succeeds for nodes of two databases at once that sign in as %s',
    async (login) => {
      for (let round = 0; round < 3; round += 1) {
        await cluster.sql('postgres', `create role ${login} login createrole`)
        for (const database of ['one', 'two']) {
          await cluster.sql('postgres', `create database ${database} owner ${login}`)
        }
        const databases = Array.from({ length: 6 }, () => ['one', 'two']).flat()
        expect(await prepareAtOnce(databases, login)).toEqual([])
        const [{ settings } = { settings: 0 }] = await cluster.sql<{ settings: number }>(
          'postgres',
          `select count(*)::int as settings from pg_db_role_setting s join pg_roles r on r.oid = s.setrole
         where rolname = '${login}'`,
        )
        expect(settings).toBe(login === 'basalt' ? 2 : 0)
        for (const database of ['one', 'two']) await cluster.sql('postgres', `drop database ${database}`)
        await cluster.sql(
          'postgres',
          `drop role basalt_authenticated; drop role basalt_anonymous; drop role ${login}`,
        )
      }
    },
  )
})
