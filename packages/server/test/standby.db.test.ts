import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Standby, startStandby } from './standby.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'

let primary: ThrowAwayCluster
let standby: Standby

beforeAll(async () => {
  primary = await startThrowAwayCluster()
  await primary.sql('postgres', 'create table note (id int)')
  standby = await startStandby(primary)
})

afterAll(async () => {
  await standby?.[Symbol.asyncDispose]()
  await primary?.[Symbol.asyncDispose]()
})

const count = async (cluster: ThrowAwayCluster) =>
  (await cluster.sql<{ count: number }>('postgres', 'select count(*)::int as count from note'))[0]?.count

describe('startStandby', () => {
  test('replays the commits of the primary, pauses and delays them, and accepts no write', async () => {
    await primary.sql('postgres', 'insert into note values (1)')
    await waitFor('the first row', async () => (await count(standby)) === 1)
    await expect(standby.sql('postgres', 'insert into note values (2)')).rejects.toMatchObject({
      code: '25006',
    })

    await standby.pause()
    await primary.sql('postgres', 'insert into note values (2)')
    expect(await standby.hasCaughtUp()).toBe(false)
    expect(await count(standby)).toBe(1)
    await standby.resume()
    await waitFor('the second row', async () => (await count(standby)) === 2)

    await standby.setDelay(3_600_000)
    await primary.sql('postgres', 'insert into note values (3)')
    expect(await count(standby)).toBe(2)
    await standby.setDelay(0)
    await waitFor('the third row', async () => (await count(standby)) === 3)
    await waitFor('everything', () => standby.hasCaughtUp())
  })

  test('promotes it to a primary with its own commits', async () => {
    await standby.promote()
    await standby.sql('postgres', 'insert into note values (4)')
    expect([await count(standby), await count(primary)]).toEqual([4, 3])
  })
})
