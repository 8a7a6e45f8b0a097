import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../../../test/connections.ts'
import { type Standby, startStandby } from '../../../test/standby.ts'
import {
  findFreePort,
  startThrowAwayCluster,
  type ThrowAwayCluster,
} from '../../../test/throw-away-cluster.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { Connection } from '../connection/connection.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { Primary } from '../primary/primary.ts'

let first: ThrowAwayCluster
let second: Standby
let closedPort: number

beforeAll(async () => {
  first = await startThrowAwayCluster()
  second = await startStandby(first)
  closedPort = await findFreePort()
})
afterAll(async () => {
  await second?.[Symbol.asyncDispose]()
  await first?.[Symbol.asyncDispose]()
})

function urlOf(ports: readonly number[], query = ''): string {
  return `postgresql://postgres@${ports.map((port) => `127.0.0.1:${port}`).join()}/postgres${query}`
}

function open(url: string, primary?: Primary): Promise<Connection> {
  return Connection.open({
    url,
    applicationName: 'unit test',
    settings: {},
    prepare: true,
    connectTimeoutMs: 3000,
    ...(primary === undefined ? {} : { primary }),
  })
}

async function portOf(opened: Promise<Connection>): Promise<number> {
  const connection = await opened
  const [answer] = await connection.send([call(`select current_setting('port')`)])
  await connection.close()
  return Number(answer?.rows[0]?.[0])
}

async function failureOf(opened: Promise<Connection>): Promise<string> {
  const error = await opened.catch((thrown: unknown) => thrown)
  if (!(error instanceof ConnectionLost) || !(error.cause instanceof Error)) throw new Error('it was opened')
  return error.cause.message
}

describe('primary › before a change', () => {
  test('is found after a closed port and a standby', async () => {
    expect(await portOf(open(urlOf([closedPort, second.port, first.port])))).toBe(first.port)
    expect(await portOf(open(urlOf([first.port, second.port])))).toBe(first.port)
  })

  test('costs one host no statement, and several hosts one', async () => {
    const lastStatementOf = async (connection: Connection) => {
      const [row] = await first.sql<{ query: string }>(
        'postgres',
        `select query from pg_stat_activity where pid = ${connection.backendPid}`,
      )
      await connection.close()
      return row?.query
    }
    expect(await lastStatementOf(await open(urlOf([first.port])))).toBe('')
    expect(await lastStatementOf(await open(urlOf([first.port, second.port])))).toContain('pg_is_in_recovery')
  })

  test.each(['primary', 'read-write'])(
    'is required of one host by target_session_attrs=%s',
    async (target) => {
      const query = `?target_session_attrs=${target}`
      expect(await portOf(open(urlOf([first.port], query)))).toBe(first.port)
      expect(await failureOf(open(urlOf([second.port], query)))).toBe(`127.0.0.1:${second.port} is a standby`)
    },
  )

  test('is missing with the reason of each host', async () => {
    expect(await failureOf(open(urlOf([closedPort, second.port])))).toBe(
      `127.0.0.1:${closedPort} failed (connect ECONNREFUSED 127.0.0.1:${closedPort}); 127.0.0.1:${second.port} is a standby`,
    )
  })

  test('is not searched again at once after a search in vain', async () => {
    const primary = new Primary()
    const url = urlOf([closedPort, second.port])
    const failure = await open(url, primary).catch((error: unknown) => error)
    expect(await open(url, primary).catch((error: unknown) => error)).toBe(failure)
    await waitFor(
      'another search',
      async () => (await open(url, primary).catch((error) => error)) !== failure,
    )
  })

  test('is the second choice when it is read-only by default, and none of read-write', async () => {
    await first.sql('postgres', 'create database quiet')
    await first.sql('postgres', 'alter database quiet set default_transaction_read_only = on')
    await waitFor(
      'the standby',
      async () =>
        (await second.sql('postgres', `select from pg_database where datname = 'quiet'`)).length > 0,
    )
    const quiet = `postgresql://postgres@127.0.0.1:${second.port},127.0.0.1:${first.port}/quiet`
    expect(await portOf(open(quiet))).toBe(first.port)
    expect(await failureOf(open(`${quiet}?target_session_attrs=read-write`))).toBe(
      `127.0.0.1:${second.port} is a standby; 127.0.0.1:${first.port} is read-only`,
    )
  })
})

describe('primary › after a promotion', () => {
  test('closes the sessions of the former one as soon as a newer timeline is known, and does not use it again', async () => {
    const changes: object[] = []
    const primary = new Primary((message, detail) => changes.push({ message, ...detail }))
    const url = urlOf([first.port, second.port])
    const before = await open(url, primary)
    const alone = await open(urlOf([first.port]), primary)
    await second.promote()
    expect(before.isOpen).toBe(true)
    expect(await portOf(open(url, primary))).toBe(first.port)

    const servers = Connection.serversOf({
      url,
      applicationName: 'unit test',
      settings: {},
      prepare: true,
      connectTimeoutMs: 3000,
    })
    if (servers === undefined) throw new Error('the URL has no servers')
    expect(await primary.compare(servers, true)).toBe(true)
    await waitFor('the sessions to be closed', () => !before.isOpen && !alone.isOpen)
    expect(changes).toEqual([
      { message: 'the primary has changed', host: `127.0.0.1:${second.port}`, timeline: 2 },
    ])
    expect(await portOf(open(url, primary))).toBe(second.port)
    expect(await failureOf(open(urlOf([first.port]), primary))).toBe(
      `127.0.0.1:${first.port} is a former primary: its timeline is 1, that of the cluster 2`,
    )
  })

  test('finds the newer of two primaries in a process that starts', async () => {
    expect(await portOf(open(urlOf([first.port, second.port])))).toBe(second.port)
  })
})
