import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startThrowAwayCluster, type ThrowAwayCluster } from '../../../test/throw-away-cluster.ts'
import { Connection } from '../connection/connection.ts'
import { prepareAccess } from '../preparation/access.ts'
import { migrate } from '../preparation/migrate.ts'

let cluster: ThrowAwayCluster

beforeAll(async () => {
  cluster = await startThrowAwayCluster()
})
afterAll(() => cluster[Symbol.asyncDispose]())

/** Prepares the databases as starting nodes do, on connections that are open at the same time. */
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
  // They are migrated before, so that none is late because it had to wait for the migrations.
  await Promise.all(connections.map((connection) => migrate(connection)))
  const results = await Promise.allSettled(
    connections.map((connection) => prepareAccess(connection, ['public'], { isDistributed: false })),
  )
  await Promise.all(connections.map((connection) => connection.close()))
  return results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []))
}

describe('start on an empty database', () => {
  // The role of this name needs a search path of its own, and gets it by `alter role … in database … set`.
  test.each(['basalt', 'app'])(
    'succeeds for nodes of two databases at once that log in as %s',
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

describe('start on a database with tables', () => {
  test('lets callers write the tables, and only read those of extensions', async () => {
    await cluster.sql('postgres', 'create database shop')
    await cluster.sql('shop', 'create table item (id int primary key)')
    await cluster.sql('shop', 'create extension pg_stat_statements')
    expect(await prepareAtOnce(['shop'], 'postgres')).toEqual([])
    expect(
      await cluster.sql(
        'shop',
        `select relname as name, privilege from pg_class, unnest(array['select', 'insert', 'update', 'delete']) privilege
        where relname in ('item', 'pg_stat_statements')
          and has_table_privilege('basalt_authenticated', pg_class.oid, privilege)
        order by relname, privilege`,
      ),
    ).toEqual([
      ...['delete', 'insert', 'select', 'update'].map((privilege) => ({ name: 'item', privilege })),
      { name: 'pg_stat_statements', privilege: 'select' },
    ])
  })
})
