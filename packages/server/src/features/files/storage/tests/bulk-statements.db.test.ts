import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createBucket,
  createStorageApps,
  newUser,
  type StorageApps,
  untilWaiting,
} from './storage-requests.ts'

let apps: StorageApps
let first: pg.Client
let second: pg.Client

beforeAll(async () => {
  apps = await createStorageApps()
  const connect = async () => {
    const client = new pg.Client({ connectionString: apps.database.url })
    await client.connect()
    return client
  }
  ;[first, second] = [await connect(), await connect()]
})
afterAll(async () => {
  await first.end()
  await second.end()
  await apps[Symbol.asyncDispose]()
})

interface Rows {
  readonly bucket: string
  /** Prefix of their names. */
  readonly prefix?: string
  /** Owners, by turns; null: no user. */
  readonly owners: readonly (string | null)[]
  readonly size?: number
  /** True if the last comes first. */
  readonly isReversed?: boolean
}

const count = 300

/** Adds objects in one statement. */
async function addObjects(
  on: pg.Client,
  { bucket, prefix = '', owners, size = 1, isReversed = false }: Rows,
): Promise<void> {
  const key = `md5($1 || $2 || n)`
  await on.query(`insert into basalt.stored_bytes (key) select ${key} from generate_series(1, ${count}) n`, [
    bucket,
    prefix,
  ])
  await on.query(
    `insert into basalt.objects (bucket, name, size, content_type, user_id, app_id, key)
     select $1, $2 || n, $3, 'text/plain', ($4::uuid[])[n % cardinality($4) + 1],
       '00000000-0000-0000-0000-000000000000', ${key}
     from generate_series(1, ${count}) n order by ${isReversed ? '-n' : 'n'}`,
    [bucket, prefix, size, owners],
  )
}

/** Returns the row versions of the counters that a statement makes. */
async function versionsBy(on: pg.Client, statement: () => Promise<unknown>) {
  const read = async () => {
    const { rows } = await on.query<{ apps: number; users: number }>(`
      select pg_stat_get_xact_tuples_updated('basalt.app_storage_usage'::regclass)::int as apps,
        pg_stat_get_xact_tuples_updated('basalt.storage_usage'::regclass)::int as users`)
    return rows[0] ?? { apps: 0, users: 0 }
  }
  const before = await read()
  await statement()
  const after = await read()
  return { apps: after.apps - before.apps, users: after.users - before.users }
}

const totals = `
  select (select sum(bytes)::int from basalt.app_storage_usage) as apps,
    (select sum(size)::int from basalt.objects) as objects,
    (select sum(bytes)::int from basalt.storage_usage) as users,
    (select sum(size)::int from basalt.objects where user_id is not null) as "ofUsers"`

async function expectExactCounters(): Promise<void> {
  const [{ apps: counted, objects, users, ofUsers } = {}] = await apps.app.sql(totals)
  expect([counted, users]).toEqual([objects, ofUsers])
}

describe('storage › statements of many objects', () => {
  test('update each counter once, whether they add, change, move or delete', async () => {
    const [bucket, other] = [await createBucket(apps.app), await createBucket(apps.app)]
    const owners = [newUser().id, newUser().id, null]
    await apps.app.sql('insert into basalt.storage_usage (user_id) select unnest($1::uuid[])', [
      owners.slice(0, 2),
    ])
    await first.query('begin')
    // The first object of the app makes its counter.
    await addObjects(first, { bucket, prefix: 'a', owners: [null] })
    const add = () => addObjects(first, { bucket, prefix: 'b', owners })
    expect(await versionsBy(first, add)).toEqual({ apps: 1, users: 2 })
    const change = (text: string) => versionsBy(first, () => first.query(text, [bucket]))
    const grow = 'update basalt.objects set size = size + 1 where bucket = $1'
    expect(await change(grow)).toEqual({ apps: 1, users: 2 })
    const move = `update basalt.objects set bucket = '${other}' where bucket = $1 and name >= 'b2'`
    expect(await change(move)).toEqual({ apps: 0, users: 0 })
    expect(await change('delete from basalt.objects where bucket = $1')).toEqual({ apps: 1, users: 2 })
    await first.query('commit')
    await expectExactCounters()
  })

  test('are held to the quota together with those that run beside them', async () => {
    const bucket = await createBucket(apps.app)
    const owners = [newUser().id, newUser().id]
    const size = 4096
    const begin = async (on: pg.Client) => {
      await on.query('begin')
      await on.query(`select set_config('basalt.storage_quota', '1000000', true)`)
    }
    await begin(first)
    await addObjects(first, { bucket, prefix: 'a', owners, size })
    await begin(second)
    const added = addObjects(second, { bucket, prefix: 'b', owners, size, isReversed: true })
    const refused = expect(added).rejects.toMatchObject({ code: 'BS002', message: 'storage quota exceeded' })
    await untilWaiting(apps.app, 1)
    await first.query('commit')
    await refused
    await second.query('rollback')
    const [stored] = await apps.app.sql('select count(*)::int from basalt.objects where bucket = $1', [
      bucket,
    ])
    expect(stored).toEqual({ count })
    await expectExactCounters()
  })

  test('change nothing when one object has no staged bytes', async () => {
    const bucket = await createBucket(apps.app)
    const owners = [newUser().id]
    await addObjects(first, { bucket, owners })
    await first.query(
      'insert into basalt.stored_bytes (key) select md5($1 || n) from generate_series(1, 2) n',
      [`new ${bucket}`],
    )
    const replace = `
      update basalt.objects set key = md5($1 || case name when '1' then 1 else 2 end), size = 9
      where bucket = $2 and name in ('1', '2')`
    await first.query(`update basalt.stored_bytes set state = 'doomed' where key = md5($1 || 2)`, [
      `new ${bucket}`,
    ])
    await expect(first.query(replace, [`new ${bucket}`, bucket])).rejects.toMatchObject({ code: 'BS001' })
    await first.query(`update basalt.stored_bytes set state = 'staged' where key = md5($1 || 2)`, [
      `new ${bucket}`,
    ])
    await first.query(replace, [`new ${bucket}`, bucket])
    const states = await apps.app.sql(
      `select state, count(*)::int from basalt.stored_bytes
       where key in (select md5($1 || n) from generate_series(1, 2) n union select md5($2 || n) from generate_series(1, 2) n)
       group by state order by state`,
      [`new ${bucket}`, bucket],
    )
    expect(states).toEqual([
      { state: 'committed', count: 2 },
      { state: 'doomed', count: 2 },
    ])
    await expectExactCounters()
  })

  test('log an event for each object, in its order, with the object as it was', async () => {
    const bucket = await createBucket(apps.app)
    await apps.app.sql(
      `insert into basalt.webhooks (id, url, events, tables, enabled)
       values (gen_random_uuid(), 'http://127.0.0.1:9', '{create,update}', '{basalt.objects}', true)`,
    )
    await addObjects(first, { bucket, owners: [newUser().id, null] })
    await first.query(
      `update basalt.objects set id = gen_random_uuid(), name = 'new ' || name where bucket = $1`,
      [bucket],
    )
    const events = await apps.app.sql(
      `select action, record ->> 'name' as name, old_record ->> 'name' as old, hidden ->> 'key' as key,
         old_hidden ->> 'key' as "oldKey"
       from basalt.outbox where table_name = 'basalt.objects' and record ->> 'bucket' = $1 order by id`,
      [bucket],
    )
    const names = Array.from({ length: count }, (_, index) => String(index + 1))
    const created = events.filter(({ action }) => action === 'create')
    expect(created.map(({ name }) => name)).toEqual(names)
    const keys = new Map(created.map(({ name, key }) => [name, key]))
    const updated = events.filter(({ action }) => action === 'update')
    expect(updated).toHaveLength(count)
    for (const { name, old, key, oldKey } of updated) {
      expect([name, key, oldKey]).toEqual([`new ${old}`, keys.get(old), keys.get(old)])
    }
    await apps.app.sql(`delete from basalt.webhooks`)
  })

  test('look bytes up by index after a statement of many has planned for its session', async () => {
    const bucket = await createBucket(apps.app)
    await addObjects(second, { bucket, owners: [null] })
    await second.query(`
      insert into basalt.stored_bytes (key) select md5('filler' || n) from generate_series(1, 5000) n;
      analyze basalt.stored_bytes`)
    const scans = async () => {
      const { rows } = await second.query<{ read: number }>(
        `select pg_stat_get_xact_tuples_returned('basalt.stored_bytes'::regclass)::int as read`,
      )
      return rows[0]?.read ?? 0
    }
    await second.query('begin')
    await second.query(`delete from basalt.objects where bucket = $1 and name > '2'`, [bucket])
    const before = await scans()
    await second.query(`delete from basalt.objects where bucket = $1 and name = '1'`, [bucket])
    expect((await scans()) - before).toBeLessThan(10)
    await second.query('commit')
  })
})
