import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newEmail } from './accounts.ts'
import { contradictions, loadTable, startLoad } from './load.ts'
import { enrollTotp, totpCode } from './second-factors.ts'
import { type Reply, sendRequest } from './send-request.ts'
import {
  type Account,
  createDirectory,
  type FinishedCommand,
  isRoot,
  launchCommand,
  postmasterOf,
  runCommand,
  startServer,
  unprivileged,
} from './server-process.ts'
import { findFreePort } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'

const password = 'tangerine-harbour-42'
const accounts: [string, Account | undefined][] = [
  ['the account of the tests', undefined],
  ...(isRoot ? [['an ordinary account', unprivileged] as [string, Account]] : []),
]
const clean = { code: 0, signal: null }

/**
 * Returns options with generated secrets only, so that a restored server has nothing but the contents of the backup.
 */
function optionsOf(data: string, account?: Account, config: Readonly<Record<string, string>> = {}) {
  return {
    account,
    config: { 'server.data_dir': data, 'auth.jwt_secret': '', 'auth.totp_enabled': 'true', ...config },
  }
}

function post(url: string, path: string, body?: unknown, token?: string): Promise<Reply> {
  return sendRequest('POST', `${url}/api/auth/${path}`, { body, ...(token === undefined ? {} : { token }) })
}

/** Registers a user with an authenticator app. */
async function enrol(url: string): Promise<{ email: string; secret: string; token: string }> {
  const email = newEmail()
  const { token } = (await post(url, 'register', { email, password })).json
  const { secret } = await enrollTotp((path, body, bearer) => post(url, path, body, bearer), token)
  return { email, secret, token }
}

async function signIn(url: string, user: { email: string; secret: string }): Promise<Reply> {
  const { mfa_token } = (await post(url, 'login', { email: user.email, password })).json
  const { challenge_id } = (await post(url, 'mfa/totp/challenge', {}, mfa_token)).json
  // The server accepts the steps before and after the current one; the step of the enrolment is already used.
  return await post(url, 'mfa/totp/verify', { challenge_id, code: totpCode(user.secret) }, mfa_token)
}

async function countKeys(options: ReturnType<typeof optionsOf>): Promise<ReadonlyMap<string, number>> {
  const query = 'select key, count(*)::int from item group by key'
  const { stdout, stderr } = await runCommand(['sql', '--json', query], options)
  expect(stderr).toBe('')
  const rows: { key: string; count: number }[] = JSON.parse(stdout)
  return new Map(rows.map(({ key, count }) => [key, count]))
}

function mode(path: string): number {
  return statSync(path).mode & 0o777
}

/** Lists the files of a folder except the log and the socket. */
function contents(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => !['postgres.log', 'run', 'servers'].includes(name))
    .sort()
}

function failure(message: string): FinishedCommand {
  return { code: 1, signal: null, stdout: '', stderr: `basalt: ${message}\n` }
}

/** Returns the expected output of a refused start, which begins with the notice of a development server. */
function refusedStart(message: string) {
  return { ...failure(message), stdout: expect.stringMatching(/^\{[^\n]*"msg":"development: [^\n]*\}\n$/) }
}

const followedTable = `
  create table followed (id int primary key);
  insert into basalt.webhooks (id, url, events, tables, enabled)
  values (gen_random_uuid(), 'http://127.0.0.1:9/', '{create,update,delete,truncate}', '{followed}', true)`
const countTriggers = `
  select count(*)::int from pg_trigger
  where tgrelid = 'followed'::regclass and tgname like 'basalt_capture_%'`

describe.each(accounts)('backup and restore, as %s', (_, account) => {
  test('under load restore every acknowledged row and sign-in with TOTP in another folder', async () => {
    await using directory = createDirectory(account, 'data')
    const [data, other] = [join(directory.path, 'data'), join(directory.path, 'other')]
    const file = join(directory.path, 'backup.tar.gz')
    const before = optionsOf(data, account)
    expect((await runCommand(['sql', loadTable], before)).code).toBe(0)
    await using server = await startServer(before)
    expect((await runCommand(['sql', followedTable], before)).code).toBe(0)
    await waitFor('triggers for events', async () => {
      const { stdout } = await runCommand(['sql', '--json', countTriggers], before)
      return stdout.includes('"count": 4')
    })
    const user = await enrol(server.url)
    const { token } = user
    const load = startLoad({ urls: [server.url], token, clients: 4, prefix: 'early' })
    await waitFor('some load', () => load.answered > 100)
    const early = await load.stop()
    const during = startLoad({ urls: [server.url], token, clients: 4, prefix: 'during' })
    await waitFor('some more load', () => during.answered > 20)

    expect(await runCommand(['backup', file], before)).toEqual({ ...clean, stdout: `${file}\n`, stderr: '' })

    const answered = during.answered
    await waitFor('the load to continue', () => during.answered > answered + 20)
    const late = await during.stop()
    expect([...late.statuses.keys()].sort()).toEqual([200, 201])
    expect(mode(file)).toBe(0o600)
    expect(readdirSync(directory.path).sort()).toEqual(['backup.tar.gz', 'data'])
    expect(await runCommand(['backup', file], before)).toEqual(failure(`${file} exists: choose another name`))
    expect(await server.stop()).toEqual(clean)

    const after = optionsOf(other, account)
    const restored = await runCommand(['restore', file], after)
    expect({ ...restored, stdout: '' }).toEqual({ ...clean, stdout: '', stderr: '' })
    expect(restored.stdout).toMatch(
      /^restored the backup of 20.* \(Basalt .*, PostgreSQL 18\..*\) to .*other\n$/,
    )
    expect([mode(join(other, 'secrets')), mode(join(other, 'secrets', 'encryption_key'))]).toEqual([
      0o700, 0o600,
    ])
    expect([mode(join(other, 'postgres')), mode(join(other, 'postgres', 'PG_VERSION'))]).toEqual([
      0o700, 0o600,
    ])

    await using again = await startServer(after)
    expect((await signIn(again.url, user)).json).toMatchObject({ user: { email: user.email } })
    // The restored secret still verifies the earlier token.
    expect((await sendRequest('GET', `${again.url}/api/auth/me`, { token })).status).toBe(200)
    const present = await countKeys(after)
    expect([...early.creates.values()].filter((fate) => fate === 'acknowledged').length).toBeGreaterThan(10)
    expect(contradictions(early, present)).toEqual([])
    // Some of the concurrent writes are in the backup, each at most once.
    expect([...present].filter(([, count]) => count > 1)).toEqual([])
    // Events are logged for every writer, as before the backup.
    const logged = `insert into followed values (1); select action, record from basalt.outbox where table_name = 'followed'`
    expect(JSON.parse((await runCommand(['sql', '--json', logged], after)).stdout)).toEqual([
      { action: 'create', record: { id: 1 } },
    ])
    expect(await again.stop()).toEqual(clean)
    expect(postmasterOf(other)).toBeUndefined()
  })
})

describe.each(accounts.slice(-1))('basalt backup', (_, account) => {
  let directory: ReturnType<typeof createDirectory>
  let data: string
  let file: string
  const run = (args: readonly string[], dataDirectory = data) =>
    runCommand(args, optionsOf(dataDirectory, account))

  beforeAll(async () => {
    directory = createDirectory(account, 'data')
    data = join(directory.path, 'data')
    file = join(directory.path, 'backup.tar.gz')
    await run(['sql', 'create table kept as select n from generate_series(1, 1000) n'])
    await using server = await startServer(optionsOf(data, account))
    await server.stop()
    expect(await run(['backup', file])).toMatchObject({ ...clean, stderr: '' })
  })
  afterAll(() => directory[Symbol.asyncDispose]())

  const count = async (dataDirectory: string) =>
    JSON.parse((await run(['sql', '--json', 'select count(*)::int from kept'], dataDirectory)).stdout)

  test('writes a tar archive that lists its contents', () => {
    const { stdout } = spawnSync('tar', ['-tzf', file], { encoding: 'utf8' })
    const names = stdout.trim().split('\n')
    expect([names[0], names.at(-1)]).toEqual(['backup.json', 'manifest.json'])
    expect(names).toEqual(
      expect.arrayContaining([
        'postgres/PG_VERSION',
        'postgres/backup_label',
        'postgres/global/pg_control',
        'secrets/encryption_key',
        'secrets/jwt_secret',
      ]),
    )
    expect(names.some((name) => /^postgres\/pg_wal\/[0-9A-F]{24}$/.test(name))).toBe(true)
    expect(names).not.toContain('postgres/postmaster.pid')
  })

  test('rejects a folder without a database and creates no file', async () => {
    const empty = join(directory.path, 'empty')
    expect(await run(['backup', `${file}.2`], empty)).toEqual(failure(`${empty} has no database`))
    expect(existsSync(empty)).toBe(false)
  })

  test('leaves no file when writing fails', async () => {
    const nowhere = join(directory.path, 'nowhere', 'backup.tar.gz')
    const { code, stderr } = await run(['backup', nowhere])
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^basalt: cannot write .*ENOENT/)])
    expect(postmasterOf(data)).toBeUndefined()
  })

  test('leaves no file when it is killed, and does not hinder the next backup', async () => {
    const target = join(directory.path, 'killed.tar.gz')
    await using server = await startServer(optionsOf(data, account))
    const partials = () => readdirSync(directory.path).filter((name) => name.endsWith('.partial'))
    const killed = launchCommand(['backup', target], optionsOf(data, account))
    await waitFor('the backup to begin', () => partials().length > 0)
    killed.signal('SIGKILL')
    await killed.ended
    expect(existsSync(target)).toBe(false)
    expect((await run(['backup', target])).code).toBe(0)
    expect(partials()).toEqual([])
    expect(await server.stop()).toEqual(clean)
  })

  test('removes its file when it is interrupted', async () => {
    const target = join(directory.path, 'interrupted.tar.gz')
    await using server = await startServer(optionsOf(data, account))
    const partials = () => readdirSync(directory.path).filter((name) => name.endsWith('.partial'))
    const interrupted = launchCommand(['backup', target], optionsOf(data, account))
    await waitFor('the backup to begin', () => partials().length > 0)
    const { code } = await interrupted.stop('SIGTERM')
    expect([code, partials(), existsSync(target)]).toEqual([1, [], false])
    expect(await server.stop()).toEqual(clean)
  })

  test('names the tools for an external database', async () => {
    const config = { 'database.url': 'postgresql://app@127.0.0.1:1/shop' }
    for (const [command, tool] of [
      ['backup', 'pg_dumpall --roles-only'],
      ['restore', 'pg_restore'],
    ]) {
      const { code, stderr } = await runCommand([command ?? '', file], { config })
      expect([code, stderr]).toEqual([1, expect.stringContaining(`${tool}`)])
    }
  })

  test('restores over another database only with --force, which keeps the old one aside', async () => {
    const taken = join(directory.path, 'taken')
    expect((await run(['sql', 'create table other (id int)'], taken)).code).toBe(0)
    const refused = await run(['restore', file], taken)
    expect(refused).toEqual(
      failure(`${taken}/postgres exists: choose another --data-dir, or move it aside with --force`),
    )
    const { stdout } = await run(['restore', '--force', file], taken)
    const [, aside] = /^what was there before is in (.*\/postgres\.before-\d{14})$/m.exec(stdout) ?? []
    expect(readFileSync(join(aside ?? '', 'PG_VERSION'), 'utf8')).toBe('18\n')
    expect(await count(taken)).toEqual([{ count: 1000 }])
  })

  test('refuses to restore under a running server', async () => {
    await using server = await startServer(optionsOf(data, account))
    expect(await run(['restore', '--force', file])).toEqual(
      failure(`a server runs at ${server.url} (process ${server.pid}): stop it first`),
    )
    expect((await sendRequest('GET', `${server.url}/health`)).status).toBe(200)
    server.signal('SIGKILL')
    await server.ended
    const { stderr } = await run(['restore', '--force', file])
    expect(stderr).toMatch(/postgres is in use by PostgreSQL \(process \d+\)/)
  })

  const damages: [string, RegExp, (archive: Buffer) => Buffer][] = [
    ['cut off', /is not a whole backup/, (archive) => archive.subarray(0, archive.length / 2)],
    [
      'changed in one byte',
      /is not a whole backup: .* is damaged/,
      (archive) => {
        const plain = gunzipSync(archive)
        const at = plain.indexOf('postgres/global/pg_control') + 512 + 16
        plain[at] = (plain[at] ?? 0) ^ 1
        return gzipSync(plain, { level: 1 })
      },
    ],
    ['no archive', /is not a whole backup/, () => Buffer.from('not a backup')],
    [
      'of another PostgreSQL',
      /the backup is of PostgreSQL 17, this Basalt brings PostgreSQL 18, which cannot read it/,
      (archive) => {
        const plain = gunzipSync(archive)
        plain.write('"postgresVersion":"17', plain.indexOf('"postgresVersion":"18'))
        return gzipSync(plain, { level: 1 })
      },
    ],
    ...(['postgresVersion', 'files'] as const).map(
      (member): [string, RegExp, (archive: Buffer) => Buffer] => [
        `without its ${member}`,
        /is not a whole backup: (backup|manifest)\.json is damaged/,
        (archive) => {
          const plain = gunzipSync(archive)
          plain.write('x', plain.lastIndexOf(`"${member}"`) + 1)
          return gzipSync(plain, { level: 1 })
        },
      ],
    ),
  ]
  test.each(damages)(
    'rejects a backup that is %s and restores nothing of it',
    async (name, message, damage) => {
      const folder = join(directory.path, `folder-${name.replaceAll(' ', '-')}`)
      const damaged = `${folder}.tar.gz`
      writeFileSync(damaged, damage(readFileSync(file)), { mode: 0o644 })
      const { code, stderr } = await run(['restore', damaged], folder)
      expect([code, stderr]).toEqual([1, expect.stringMatching(message)])
      expect(contents(folder)).toEqual([])
    },
  )

  test('restores the whole database or nothing when the restore is killed at any moment', async () => {
    let [whole, none] = [0, 0]
    // Kills the restore when the folder holds this number of names, which occurs once during a restore.
    for (const names of [0, 1, 2]) {
      const folder = join(directory.path, `killed-${names}`)
      mkdirSync(folder)
      if (account !== undefined) spawnSync('chown', [`${account.uid}:${account.gid}`, folder])
      const killed = launchCommand(['restore', file], optionsOf(folder, account))
      await waitFor('the restore', () => readdirSync(folder).length >= names)
      killed.signal('SIGKILL')
      await killed.ended
      const { code } = await run(['restore', file], folder)
      // The second restore completed the killed one, or found it complete.
      if (code === 0) none += 1
      else whole += 1
      expect(await count(folder)).toEqual([{ count: 1000 }])
      expect(contents(folder)).toEqual(['postgres', 'secrets'])
      rmSync(folder, { recursive: true, force: true })
    }
    expect(whole + none).toBe(3)
  })

  test('completes at the next start when the restore was killed between its renames', async () => {
    const folder = join(directory.path, 'journal')
    expect((await run(['restore', file], folder)).code).toBe(0)
    // State after the journal was written and before anything was renamed.
    const moves = ['postgres', 'secrets'].map((name) => ({
      from: join(folder, `${name}.999999`),
      to: join(folder, name),
    }))
    for (const { from, to } of moves) spawnSync('mv', [to, from])
    writeFileSync(join(folder, 'restore.json'), JSON.stringify({ asides: [], placements: moves }))
    expect(await count(folder)).toEqual([{ count: 1000 }])
    expect(contents(folder)).toEqual(['postgres', 'secrets'])
  })
})

describe('startup with a key that does not open the stored secrets', () => {
  test('is refused with advice, creates no new key, and succeeds with the right key', async () => {
    await using directory = createDirectory(undefined, '.')
    const options = optionsOf(directory.path)
    const secrets = join(directory.path, 'secrets')
    await using server = await startServer(options)
    const user = await enrol(server.url)
    await server.stop()

    spawnSync('mv', [secrets, `${secrets}.away`])
    const lost = await runCommand(['start'], options)
    expect(lost).toEqual(
      refusedStart(
        `${secrets}/encryption_key is missing, and 1 stored secrets (TOTP 1, webhooks 0, sign-in providers 0, push providers 0, second factors of administrators 0, secrets of functions 0) were sealed with it: ` +
          'put it back from a backup (docs/guides/backup.md)',
      ),
    )
    // The start has needed the database, whose password can be generated again.
    expect(readdirSync(secrets)).toEqual(['postgres_password'])

    const other = { 'auth.encryption_key': 'ab'.repeat(32) }
    const replaced = await runCommand(['start'], optionsOf(directory.path, undefined, other))
    expect(replaced).toEqual(
      refusedStart(
        'no configured key opens 1 stored secrets (TOTP 1, webhooks 0, sign-in providers 0, push providers 0, second factors of administrators 0, secrets of functions 0): set auth.encryption_key to the key that ' +
          'sealed them, or add it to auth.previous_encryption_keys (docs/guides/backup.md)',
      ),
    )

    rmSync(secrets, { recursive: true })
    spawnSync('mv', [`${secrets}.away`, secrets])
    await using again = await startServer({
      config: { ...options.config, 'server.port': String(await findFreePort()) },
    })
    expect((await signIn(again.url, user)).status).toBe(200)
    expect(await again.stop()).toEqual(clean)
  })
})
