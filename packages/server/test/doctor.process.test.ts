import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backup } from '../src/cli/doctor/checks/backup.ts'
import { server as serverCheck } from '../src/cli/doctor/checks/server.ts'
import { findingsOf } from './doctor.ts'
import { configVariables, createDirectory, postmasterOf, runCommand, startServer } from './server-process.ts'
import { basaltHere } from './terminal.ts'
import { createTestDatabase, type TestDatabase } from './test-app.ts'
import { testConfig } from './test-config.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

describe('basalt doctor', () => {
  test('creates nothing where no database is yet', async () => {
    await using directory = createDirectory()
    const env = configVariables({ 'server.data_dir': directory.path })
    const { code, stdout, stderr } = await basaltHere(['doctor'], { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`database           ${directory.path} has no database yet\n`)
    expect(readdirSync(directory.path)).toEqual([])
  })

  test('examines a stopped embedded database, and leaves it stopped and unprepared', async () => {
    await using directory = createDirectory(undefined, '.')
    const env = configVariables({ 'server.data_dir': directory.path })
    const { code, stdout } = await basaltHere(['doctor', '--json'], { env })
    const { findings } = JSON.parse(stdout)
    const statusOf = (id: string) => findings.find((finding: { id: string }) => finding.id === id)?.status
    expect({
      code,
      server: statusOf('server'),
      engine: statusOf('engine.version'),
      roles: findings.find(({ id }: { id: string }) => id === 'roles')?.message,
    }).toEqual({
      code: 0,
      server: 'skipped',
      engine: 'ok',
      roles: 'the first start has not prepared the database yet',
    })
    expect(postmasterOf(directory.path)).toBeUndefined()
  })

  test('finds a running server, and one that does not respond', async () => {
    await using directory = createDirectory()
    const config = { 'server.data_dir': directory.path, 'database.url': database.url }
    await using running = await startServer({ config })
    const check = () => findingsOf(testConfig(config), serverCheck)
    const name = `process ${running.pid}`
    expect(await check()).toEqual({
      server: {
        id: 'server',
        status: 'ok',
        message: `${name} serves ${running.url} (version 0.1.0)`,
        fix: null,
      },
    })
    running.signal('SIGSTOP')
    try {
      expect(await check()).toEqual({
        server: {
          id: 'server',
          status: 'failure',
          message: `${name} at ${running.url} does not respond`,
          fix: 'basalt logs --level warn',
        },
      })
    } finally {
      running.signal('SIGCONT')
    }
  })

  test('knows the age of the newest backup, which basalt backup records', async () => {
    await using directory = createDirectory(undefined, 'data')
    const data = join(directory.path, 'data')
    const public_ = { 'server.data_dir': data, 'server.public_base_url': 'https://api.example.com' }
    await using running = await startServer({ config: { 'server.data_dir': data } })
    expect(running.url).not.toBe('')
    const check = async () => (await findingsOf(testConfig(public_), backup)).backup
    const fix = 'basalt backup "basalt-$(date +%F).tar.gz"   # daily, from cron or a systemd timer'
    expect(await check()).toEqual({
      id: 'backup',
      status: 'warning',
      message: 'no backup has been recorded',
      fix,
    })
    const file = join(directory.path, 'basalt.tar.gz')
    expect(await runCommand(['backup', file], { config: { 'server.data_dir': data } })).toMatchObject({
      code: 0,
      stdout: `${file}\n`,
    })
    expect(await check()).toMatchObject({
      status: 'ok',
      message: expect.stringMatching(/^the newest backup is \d minutes old$/),
    })
    const env = configVariables({ 'server.data_dir': data })
    await basaltHere(
      [
        'sql',
        `update basalt.settings set value = value || jsonb_build_object('finishedAt', now() - interval '73 hours')
         where key = 'last_backup'`,
      ],
      { env },
    )
    expect(await check()).toEqual({
      id: 'backup',
      status: 'warning',
      message: 'the newest backup is 3 days old',
      fix,
    })
  })
})
