import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findingsOf } from '../../../../test/doctor.ts'
import { openMailServer } from '../../../../test/mail-server.ts'
import { createTestDatabase, type TestDatabase } from '../../../../test/test-app.ts'
import { testConfig } from '../../../../test/test-config.ts'
import { disk } from '../checks/disk.ts'
import { mail } from '../checks/mail.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

const configOf = (overrides: Readonly<Record<string, string>> = {}) =>
  testConfig({ 'database.url': database.url, ...overrides })

function found(id: string, status: string, message: unknown, fix: unknown = null) {
  return { [id]: { id, status, message, fix } }
}

describe('basalt doctor › disk', () => {
  const data = '/srv/basalt'
  const config = () => configOf({ 'server.data_dir': data })
  const with_ = (freeBytes: number, totalBytes: number) => ({
    measureDisk: async () => ({ freeBytes, totalBytes }),
  })
  const ofDatabase = found(
    'disk.database',
    'skipped',
    expect.stringMatching(
      /^the database takes \d+\.\d MB; PostgreSQL does not report the free space of its machine$/,
    ),
  )
  const fix = `du -xh --max-depth=2 ${data} | sort -h   # what to remove, or enlarge the volume`

  test.each([
    [50_000_000_000, 100_000_000_000, 'ok', '50.0 GB free, 50 %', null],
    [30_000_000_000, 1_000_000_000_000, 'ok', '30.0 GB free, 3 %', null],
    [9_000_000_000, 100_000_000_000, 'warning', '9.0 GB free, 9 %', fix],
    [1_000_000_000, 100_000_000_000, 'failure', '1.0 GB free, 1 %', fix],
    [100_000_000, 200_000_000, 'failure', '100.0 MB free, 50 %', fix],
  ])('with %i of %i bytes free it is %s', async (free, total, status, message, line) => {
    expect(await findingsOf(config(), disk, with_(free, total))).toEqual({
      ...found('disk.data', status, `${data} has ${message}`, line),
      ...ofDatabase,
    })
  })

  test('measures the directory of files, too, and a parent of what does not exist yet', async () => {
    const findings = await findingsOf(configOf({ 'storage.local_path': '/nowhere/files' }), disk)
    expect(Object.keys(findings)).toEqual(['disk.data', 'disk.files', 'disk.database'])
    expect(findings['disk.files']?.message).toMatch(/^\/nowhere\/files has /)
  })
})

describe('basalt doctor › mail', () => {
  const smtp = (port: number, overrides: Readonly<Record<string, string>> = {}) =>
    configOf({
      'email.backend': 'smtp',
      'email.smtp.host': '127.0.0.1',
      'email.smtp.port': String(port),
      'email.smtp.security': 'none',
      ...overrides,
    })

  test('has nothing to mend if the mail server accepts the sign-in, and sends no mail', async () => {
    await using server = await openMailServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) =>
        password === 'right-word' ? done(null, { user: username }) : done(new Error('wrong')),
    })
    const account = { 'email.smtp.username': 'shop', 'email.smtp.password': 'right-word' }
    expect(await findingsOf(smtp(server.port, account), mail)).toEqual(
      found('mail', 'ok', `the mail server 127.0.0.1:${server.port} accepts connections and the sign-in`),
    )
    const wrong = await findingsOf(
      smtp(server.port, { ...account, 'email.smtp.password': 'wrong-word' }),
      mail,
    )
    expect(wrong.mail).toMatchObject({
      status: 'failure',
      message: expect.stringMatching(/^the mail server 127\.0\.0\.1:\d+ cannot be used: /),
      fix: 'host, port, security, username and password   # in [email.smtp]',
    })
    expect(JSON.stringify(wrong)).not.toContain('wrong-word')
    expect(server.mails).toEqual([])
  })

  test('fails if no mail server listens', async () => {
    expect((await findingsOf(smtp(9), mail)).mail).toMatchObject({
      status: 'failure',
      message: expect.stringContaining('ECONNREFUSED'),
    })
  })

  test.each([
    [{}, 'warning', 'email.backend is "log": users cannot reset their passwords'],
    [
      { 'auth.require_verified_email': 'true' },
      'failure',
      'email.backend is "log", so no mail is sent, but auth.require_verified_email needs it',
    ],
    [
      { 'auth.magic_link_enabled': 'true' },
      'failure',
      'email.backend is "log", so no mail is sent, but auth.magic_link_enabled needs it',
    ],
  ])('without a mail server, %j is a %s', async (overrides, status, message) => {
    expect(await findingsOf(configOf(overrides as Record<string, string>), mail)).toEqual(
      found(
        'mail',
        status,
        message,
        'backend = "smtp"   # in [email], with host, port, username and password in [email.smtp]',
      ),
    )
  })
})
