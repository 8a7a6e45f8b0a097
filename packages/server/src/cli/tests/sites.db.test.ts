import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CommandResult } from '../../../test/command.ts'
import { basaltHere, createTerminal } from '../../../test/terminal.ts'
import { createTestApp, type TestApp } from '../../../test/test-app.ts'
import { testAdminPassword, testSecret } from '../../../test/test-config.ts'
import { main } from '../../main.ts'

let app: TestApp
let directory: string

beforeAll(async () => {
  app = await createTestApp({ config: { 'sites.max_file_size': '20000' } })
  directory = mkdtempSync(join(tmpdir(), 'basalt-sites-'))
})
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true })
  await app[Symbol.asyncDispose]()
})

async function run(args: readonly string[], env: Record<string, string> = {}): Promise<CommandResult> {
  const token = await app.adminToken()
  return await basaltHere(['sites', ...args], {
    directory,
    env: { BASALT_URL: app.url, BASALT_ADMIN_TOKEN: token, ...env },
  })
}

async function runJson<Answer>(...args: string[]): Promise<Answer> {
  const { stdout, stderr, code } = await run([...args, '--json'])
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as Answer
}

let builds = 0

/** Creates a build. @returns its path, relative */
function build(files: Readonly<Record<string, string>>): string {
  builds += 1
  const name = `dist-${builds}`
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name, path)), { recursive: true })
    writeFileSync(join(directory, name, path), content)
  }
  return name
}

interface Deployed {
  readonly deploy: { readonly id: string; readonly status: string; readonly fileCount: number }
  readonly uploaded: number
}

async function pathsOf(deploy: string): Promise<string[]> {
  const rows = await app.sql<{ path: string }>(
    'select path from basalt.site_files where deploy_id = $1 order by path',
    [deploy],
  )
  return rows.map(({ path }) => path)
}

/** Starts a server in front of the app that may respond itself. */
async function startProxy(answer: (request: IncomingMessage, response: ServerResponse) => boolean) {
  const { hostname, port } = new URL(app.url)
  const server = createServer((request, response) => {
    if (answer(request, response)) {
      request.resume()
      return
    }
    const { method, headers, url } = request
    const onward = forward({ hostname, port, path: url, method, headers }, (answered) => {
      response.writeHead(answered.statusCode ?? 500, answered.headers)
      answered.pipe(response)
    })
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

describe('basalt sites deploy', () => {
  test('sends new files, makes the deploy live and prints the address; again it sends the changed files', async () => {
    await run(['create', 'shop'])
    const address = app.url.replace('127.0.0.1', 'shop.localhost')
    const first = build({
      'index.html': 'home',
      'assets/app.js': 'same',
      'assets/copy.js': 'same',
      '.well-known/security.txt': 'contact',
      '.env': 'SECRET=1',
      '.git/config': 'secret',
    })
    const deployed = await run(['deploy', first, '--site', 'shop'])
    expect(deployed).toEqual({ code: 0, stdout: `${address}\n`, stderr: '4 files, 1 kB: 3 to send\n' })
    const [live] = await runJson<Deployed['deploy'][]>('deploys', 'shop')
    expect(live).toMatchObject({ status: 'live', fileCount: 4 })
    expect(await pathsOf(live?.id ?? '')).toEqual([
      '.well-known/security.txt',
      'assets/app.js',
      'assets/copy.js',
      'index.html',
    ])
    const second = build({ 'index.html': 'changed', 'assets/app.js': 'same' })
    const next = await runJson<Deployed>('deploy', second, '--site', 'SHOP')
    expect(next).toMatchObject({ uploaded: 1, deploy: { status: 'live', fileCount: 2 } })
  })

  test('waits for the promotion with --no-promote, and a rollback restores the previous deploy', async () => {
    await run(['create', 'later', '--name', 'Later', '--spa'])
    const one = await runJson<Deployed>('deploy', build({ 'index.html': '1' }), '--site', 'later')
    const two = build({ 'index.html': '2' })
    const waiting = await run(['deploy', two, '--site', 'later', '--no-promote'])
    expect(waiting).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^basalt sites promote later [0-9a-f-]{36}\n$/),
      stderr: '1 file, 1 kB: 1 to send\n',
    })
    const [id = ''] = /[0-9a-f-]{36}/.exec(waiting.stdout) ?? []
    const statuses = async () =>
      (await runJson<Deployed['deploy'][]>('deploys', 'later')).map((each) => [each.id, each.status])
    expect(await statuses()).toEqual([
      [id, 'uploading'],
      [one.deploy.id, 'live'],
    ])
    await run(['promote', 'later', id])
    expect(await run(['rollback', 'later'])).toMatchObject({ stdout: `${one.deploy.id} is live\n` })
    expect(await statuses()).toEqual([
      [id, 'superseded'],
      [one.deploy.id, 'live'],
    ])
    expect((await run(['deploys', 'later'])).stdout).toMatch(
      /^deploy +status +files +size +created +error\n[- ]+\n\S+ +superseded +1 +1 kB/,
    )
    const { stdout } = await run(['list'])
    expect(stdout).toContain(`later  Later  yes          ${one.deploy.id}  http://later.localhost`)
    expect(await run(['delete', 'later'])).toEqual({ code: 0, stdout: '', stderr: '' })
    expect((await run(['rollback', 'later'])).stderr).toBe(
      'basalt: no site has the slug later: basalt sites list shows the sites, basalt sites create later makes it\n',
    )
  })

  test('rejects an invalid build before it sends anything', async () => {
    await run(['create', 'refused'])
    const linked = build({ 'index.html': '1', 'target.txt': '1' })
    symlinkSync('/etc/passwd', join(directory, linked, 'link.txt'))
    const page = { 'index.html': '1' }
    const unreadable = build(page)
    // Such a name is not UTF-8: its decoded form names no file.
    writeFileSync(Buffer.from(`${join(directory, unreadable)}/\xff.txt`, 'latin1'), '')
    for (const [path, message] of [
      [unreadable, /^basalt: cannot read .*\.txt: ENOENT/],
      [build({ ...page, 'a\\b': '' }), /a\\b: expected a name without backslashes and control characters\n$/],
      [build({ ...page, 'a\nb': '' }), /a.b: expected a name without backslashes and control characters\n$/],
      [
        build({ ...page, '\u00fc.txt': '1', 'u\u0308.txt': '2' }),
        /\.txt and .*\.txt have the same name to browsers: rename one, or remove it\n$/,
      ],
      ['nothing', `${join(directory, 'nothing')} is no directory`],
      [build({ 'about.html': '1' }), /has no index\.html: is it what the build has made\?/],
      [linked, /link\.txt is a symbolic link: put the file itself there, or remove it/],
    ] as const) {
      const { code, stderr } = await run(['deploy', path, '--site', 'refused'])
      expect([code, stderr]).toEqual([1, expect.stringMatching(message)])
    }
    expect(await runJson('deploys', 'refused')).toEqual([])
    expect((await run(['deploy', '.', '--site'])).code).toBe(2)
    expect((await run(['deploy', '.'])).stderr).toContain("required option '--site <slug>' not specified")
  })

  test('fails the deploy for a file that the server rejects, names the file, and keeps the live deploy', async () => {
    await run(['create', 'strict'])
    const live = await runJson<Deployed>('deploy', build({ 'index.html': '1' }), '--site', 'strict')
    const large = build({ 'index.html': '2', 'video.bin': 'x'.repeat(20_001) })
    const { code, stderr } = await run(['deploy', large, '--site', 'strict'])
    const message = 'video.bin: the file is larger than 20000 bytes'
    expect([code, stderr.split('\n').at(-2)]).toEqual([1, `basalt: ${message}`])
    expect(await runJson('deploys', 'strict')).toMatchObject([
      { status: 'failed', errorMessage: message },
      { id: live.deploy.id, status: 'live' },
    ])
  })

  test('repeats requests after 503, a broken connection, and a promotion with a lost response', async () => {
    await run(['create', 'flaky'])
    const failures = new Map([
      ['/files', 2],
      ['/manifest', 1],
      ['/promote', 1],
    ])
    using proxy = await startProxy((request, response) => {
      const [step = '', left = 0] = [...failures].find(([name]) => request.url?.endsWith(name) === true) ?? []
      if (left === 0) return false
      failures.set(step, left - 1)
      if (step === '/promote') {
        // The server executes it, and the client does not learn of it.
        void fetch(`${app.url}${request.url}`, {
          method: 'POST',
          headers: { authorization: request.headers.authorization ?? '' },
        }).then(() => response.destroy())
      } else if (left === 2) response.writeHead(503, { 'retry-after': '0' }).end('{"message":"busy"}')
      else response.destroy()
      return true
    })
    const { code, stdout, stderr } = await run(
      ['deploy', build({ 'index.html': 'flaky', 'a.js': 'flaky()' }), '--site', 'flaky', '--json'],
      { BASALT_URL: proxy.url },
    )
    expect([code, stderr]).toEqual([0, '2 files, 1 kB: 2 to send\n'])
    expect(JSON.parse(stdout)).toMatchObject({ uploaded: 2, deploy: { status: 'live', fileCount: 2 } })
    expect([...failures.values()]).toEqual([0, 0, 0])
  })

  test('shows a progress bar on a terminal', async () => {
    await run(['create', 'bar'])
    const path = build({ 'index.html': 'a bar', 'a.txt': 'b bar', 'b.txt': 'c bar' })
    const env = { BASALT_URL: app.url, BASALT_ADMIN_TOKEN: await app.adminToken() }
    const terminal = createTerminal(['sites', 'deploy', path, '--site', 'bar'], { directory, env }, true)
    await main(terminal)
    expect(terminal.output.stderr).toBe(
      [
        '3 files, 1 kB: 3 to send\n',
        `\r[${'#'.repeat(10)}${' '.repeat(20)}] 1/3 files, 1 kB\u001b[K`,
        `\r[${'#'.repeat(20)}${' '.repeat(10)}] 2/3 files, 1 kB\u001b[K`,
        `\r[${'#'.repeat(30)}] 3/3 files, 1 kB\u001b[K\n`,
      ].join(''),
    )
    expect(terminal.stdout).toBeInstanceOf(PassThrough)
  })
})

describe('basalt sites › server and administrator', () => {
  const sessions = async () =>
    (await app.sql('select 1 from basalt.admin_sessions where expires_at > now()')).length

  test('starts with a password of the environment a session that ends with the command', async () => {
    await app.adminToken()
    const before = await sessions()
    const password = { BASALT_ADMIN_TOKEN: '', BASALT_ADMIN_PASSWORD: testAdminPassword }
    expect(await run(['list'], password)).toMatchObject({ code: 0, stderr: '' })
    expect(await sessions()).toBe(before)
    const wrong = await run(['list'], { ...password, BASALT_ADMIN_PASSWORD: 'another-password-42' })
    expect([wrong.code, wrong.stderr]).toEqual([1, 'basalt: invalid password\n'])
  })

  test('needs no token with access to the database of the server', async () => {
    const config = {
      BASALT_DATABASE_URL: app.database.url,
      BASALT_SERVER_PUBLIC_BASE_URL: app.url,
      BASALT_AUTH_JWT_SECRET: testSecret,
    }
    const before = await sessions()
    const own = { ...config, BASALT_URL: '', BASALT_ADMIN_TOKEN: '' }
    expect(await run(['list'], own)).toMatchObject({ code: 0, stderr: '' })
    expect(await sessions()).toBe(before)
  })

  test('reports a missing or wrong option in one line', async () => {
    const closed = await startProxy(() => true)
    closed[Symbol.dispose]()
    writeFileSync(join(directory, 'basalt.toml'), `[admin]\npassword = "${testAdminPassword}"\n`)
    for (const [env, code, message] of [
      [
        { BASALT_ADMIN_TOKEN: '' },
        2,
        `${app.url} asks for an administrator: set --admin-token, BASALT_ADMIN_TOKEN or BASALT_ADMIN_PASSWORD`,
      ],
      [{ BASALT_URL: 'shop' }, 2, '--url: expected an http or https URL without a password'],
      [
        { BASALT_URL: app.url.replace('://', '://me:hunter2@') },
        2,
        '--url: expected an http or https URL without a password',
      ],
      [{ BASALT_ADMIN_TOKEN: 'hunter\n2' }, 2, '--admin-token: expected printable ASCII'],
      [{ BASALT_URL: '' }, 1, /no server of .* runs: start it, or name another one by --url/],
      [{ BASALT_URL: closed.url }, 1, `${closed.url} cannot be reached: ECONNREFUSED`],
      [{ BASALT_ADMIN_TOKEN: 'wrong' }, 1, 'admin authentication required'],
    ] as const) {
      const result = await run(['create', 'x'], env)
      expect([result.code, result.stdout, result.stderr.trimEnd()]).toEqual([
        code,
        '',
        typeof message === 'string' ? `basalt: ${message}` : expect.stringMatching(message),
      ])
    }
    rmSync(join(directory, 'basalt.toml'))
  })
})
