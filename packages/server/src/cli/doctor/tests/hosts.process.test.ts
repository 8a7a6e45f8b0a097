import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findingsOf } from '../../../../test/doctor.ts'
import { type Standby, startStandby } from '../../../../test/standby.ts'
import { testConfig } from '../../../../test/test-config.ts'
import {
  findFreePort,
  serveThrowAwayCluster,
  startThrowAwayCluster,
  type ThrowAwayCluster,
} from '../../../../test/throw-away-cluster.ts'
import { hosts } from '../checks/hosts.ts'

let first: ThrowAwayCluster
let second: Standby
beforeAll(async () => {
  first = await startThrowAwayCluster()
  second = await startStandby(first)
})
afterAll(async () => {
  await second?.[Symbol.asyncDispose]()
  await first?.[Symbol.asyncDispose]()
})

const named = (port: number) => `127.0.0.1:${port}`
const findings = (...ports: number[]) =>
  findingsOf(
    testConfig({ 'database.url': `postgresql://postgres@${ports.map(named).join()}/postgres` }),
    hosts,
  )

function found(id: string, status: string, message: string, fix: unknown = null) {
  return { [id]: { id, status, message, fix } }
}

describe('basalt doctor › hosts', () => {
  test('is skipped with one host', async () => {
    expect(await findings(first.port)).toEqual(found('hosts', 'skipped', 'database.url names one host'))
  })

  test('has nothing to mend with a primary and its standby', async () => {
    expect(await findings(second.port, first.port)).toEqual(
      found('hosts', 'ok', `${named(first.port)} is the primary; standby: ${named(second.port)}`),
    )
  })

  test('warns about a host that cannot be reached', async () => {
    const closed = await findFreePort()
    expect(await findings(first.port, closed)).toEqual({
      ...found(
        'hosts.unreachable',
        'warning',
        `${named(closed)} of database.url cannot be reached (ECONNREFUSED), so it could not take over`,
        `pg_isready -h 127.0.0.1 -p ${closed}   # then its log and its pg_hba.conf`,
      ),
      ...found('hosts', 'ok', `${named(first.port)} is the primary; no standby can be reached`),
    })
  })

  test('fails if no host is a primary', async () => {
    const closed = await findFreePort()
    expect((await findings(second.port, closed)).hosts).toMatchObject({
      status: 'failure',
      message: 'no host of database.url is a primary: writes get 503',
      fix: 'select pg_promote();  -- on the standby that takes over',
    })
  })

  test('fails if the hosts belong to different clusters', async () => {
    // An empty directory gets a cluster with an identifier of its own.
    await using other = await serveThrowAwayCluster({}, async () => undefined)
    const { 'hosts.clusters': clusters, hosts: primaries } = await findings(first.port, other.port)
    expect(primaries?.status).toBe('failure')
    expect(clusters).toEqual({
      id: 'hosts.clusters',
      status: 'failure',
      message: `the hosts of database.url belong to different clusters: ${named(first.port)} / ${named(other.port)}`,
      fix: 'url = "postgresql://…"   # in [database]: the primary and its standbys only',
    })
  })

  test('fails after the standby was promoted beside the primary', async () => {
    await second.sql('postgres', 'select pg_promote()')
    expect((await findings(first.port, second.port)).hosts).toEqual({
      id: 'hosts',
      status: 'failure',
      message: `${named(first.port)} (timeline 1) and ${named(second.port)} (timeline 2) are primaries at once`,
      fix: 'pg_ctl stop --mode=fast   # on the one with the lower timeline, then pg_rewind',
    })
  })
})
