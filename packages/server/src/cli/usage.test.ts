import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../test/fixtures.ts'
import { basaltHere, createTerminal } from '../../test/terminal.ts'
import { testSecret } from '../../test/test-config.ts'
import { main } from '../main.ts'

let directory: string

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'basalt-usage-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

const env = { BASALT_DATABASE_URL: 'postgresql://app@127.0.0.1:1/shop', BASALT_AUTH_JWT_SECRET: testSecret }

function run(...args: string[]) {
  return basaltHere(args, { directory, env })
}

describe('basalt', () => {
  test('prints version and help on standard output', async () => {
    const version = /^\d+\.\d+\.\d+\S*\n$/
    for (const args of [['version'], ['--version'], ['-v']]) {
      expect(await run(...args)).toEqual({ code: 0, stdout: expect.stringMatching(version), stderr: '' })
    }
    const help = await run('--help')
    expect([help.code, help.stderr]).toEqual([0, ''])
    for (const name of ['start', 'sql', 'schema', 'config', 'status', 'admin', 'version']) {
      expect(help.stdout).toMatch(new RegExp(`^  ${name}\\b`, 'm'))
    }
    const nested = await run('admin', 'token', '--help')
    expect([nested.code, nested.stderr, nested.stdout.includes('--user <id>')]).toEqual([0, '', true])
  })

  test('prints the help on standard error without a command', async () => {
    for (const args of [[], ['admin']]) {
      const result = await run(...args)
      expect([result.code, result.stdout, result.stderr.startsWith('Usage: basalt')]).toEqual([2, '', true])
    }
  })

  test.each([
    [['bogus'], 'bogus'],
    [['admin', 'bogus'], "unknown command 'bogus'"],
    [['--bogus'], "unknown option '--bogus'"],
    [['sql', '--bogus', 'select 1'], "unknown option '--bogus'"],
    [['admin', 'token', '--bogus'], "unknown option '--bogus'"],
    [['sql', '--server-prot', '1'], "unknown option '--server-prot'; did you mean --server-port?"],
    [['migrate', 'up', '--server-prot=1'], "unknown option '--server-prot'; did you mean --server-port?"],
    [['export', 'song', "--admin-tokn=basalt_'a'"], "unknown option '--admin-tokn'"],
    [['version', '--bogus=hunter2\n'], "unknown option '--bogus'"],
    [['version', '-Phunter2\n'], "unknown option '-P'"],
    [['sql', '-P=hunter2', 'select 1'], "unknown option '-P'"],
    [['migrate', 'up', '--allow-lat'], "unknown option '--allow-lat' (Did you mean --allow-late?)"],
    // Only `basalt dev` replaces sign-in providers, by a server of this machine.
    [['start', '--provider-stand-in', 'http://127.0.0.1:9'], "unknown option '--provider-stand-in'"],
    [
      ['dev', '--provider-stand-in', 'http://login.example.com'],
      'It is not an http address of this machine.',
    ],
    [['init', '--app-name', ' '], 'It is empty.'],
    [['sql', 'select 1', 'select 2'], 'too many arguments'],
    [['admin', 'token', 'x'], 'too many arguments'],
    [['sql', '--file'], "option '-f, --file <path>' argument missing"],
    [['sql'], 'sql needs a statement, --file or standard input'],
    [['sql', ''], 'sql needs a statement, --file or standard input'],
    [['sql', '  \n'], 'sql needs a statement, --file or standard input'],
    [['sql', 'select 1', '--file', 'x.sql'], 'sql takes one statement, --command or --file'],
    [['sql', '--file', 'missing.sql'], 'cannot read missing.sql: ENOENT'],
    [['config', '--server-port', 'x'], 'server.port (flag --server-port): "x" is not an integer'],
    [['start', '--port', 'x'], 'server.port (flag --server-port): "x" is not an integer'],
    [['status', '--config', 'missing.toml'], 'cannot read the configuration file missing.toml: ENOENT'],
    [['admin', 'token', '--user', 'alice'], '--user: expected a uuid'],
    [['admin', 'token', '--user', alice.toUpperCase()], '--user: expected a uuid in lower case'],
    [['admin', 'token', '--user', alice, '--aal', 'aal3'], '--aal: expected aal1 or aal2'],
    [['admin', 'token', '--user', alice, '--seconds', '-1'], '--seconds: expected a positive integer'],
    [['admin', 'token', '--user', alice, '--seconds', '1.5'], '--seconds: expected a positive integer'],
    [['admin', 'token', '--user', alice, '--seconds', '86401'], '--seconds: expected at most 86400'],
    [['admin', 'token', '--seconds', '60'], '--seconds needs --user'],
    [['admin', 'token', '--email-verified'], '--email-verified needs --user'],
    [['admin', 'token', '--aal', 'aal2'], '--aal needs --user'],
  ])('exits with 2 for %j, and a line with the reason', async (args, message) => {
    const { code, stdout, stderr } = await run(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^basalt: [^\n]+\n$/)
    expect(stderr).toContain(message)
  })

  test.each([
    ['EPIPE', 0, ''],
    ['ENOSPC', 1, 'basalt: cannot write to standard output: write ENOSPC\n'],
  ])('handles an output that fails with %s by exit code %d', async (code, exitCode, stderr) => {
    const terminal = createTerminal(['version'], { directory, env })
    terminal.stdout.once('data', () =>
      terminal.stdout.destroy(Object.assign(new Error(`write ${code}`), { code })),
    )
    await main(terminal)
    await setImmediate()
    expect([terminal.exitCode ?? 0, terminal.output.stderr]).toEqual([exitCode, stderr])
  })

  test.each([
    [['sql', 'select 1']],
    [['sql', '-f', '/dev/stdin', '--json', '--database-acquire-timeout-ms', '100']],
    [['schema']],
    [['admin', 'token']],
    [['admin', 'reset-password']],
  ])('%j exits with 1 when the database is unavailable, and a line without its password', async (args) => {
    const withPassword = { ...env, BASALT_DATABASE_URL: 'postgresql://app:hunter2@127.0.0.1:1/shop' }
    writeFileSync(join(directory, 'one.sql'), 'select 1')
    const given = args.map((arg) => (arg === '/dev/stdin' ? 'one.sql' : arg))
    expect(await basaltHere(given, { directory, env: withPassword })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'basalt: cannot reach the database at 127.0.0.1:1/shop: connect ECONNREFUSED 127.0.0.1:1\n',
    })
  })
})

describe('basalt config', () => {
  test('prints every value and its source, with secrets redacted', async () => {
    writeFileSync(
      join(directory, 'basalt.toml'),
      '[server]\nport = 9000\n\n[admin]\npassword = "hunter2hunter2"\n',
    )
    const text = await run('config', '--host', '::1')
    expect([text.code, text.stderr]).toEqual([0, ''])
    expect(text.stdout).not.toMatch(/hunter2|test-secret|postgresql:\/\//)
    const line = (key: string) => text.stdout.split('\n').find((each) => each.startsWith(`${key} `))
    expect(line('server.port')).toMatch(/^server\.port +9000 +file basalt\.toml$/)
    expect(line('server.host')).toMatch(/"::1" +flag --server-host$/)
    expect(line('server.body_limit')).toMatch(/1048576 +default$/)
    expect(line('server.trusted_proxies')).toMatch(/\[\] +default$/)
    expect(line('auth.jwt_secret')).toMatch(/"\[redacted\]" +environment BASALT_AUTH_JWT_SECRET$/)
    expect(line('metrics.token')).toMatch(/"" +default$/)
    // The database is an external one, whose URL is in the environment.
    expect(line('database.require_rls')).toMatch(/true +default \(auto\)$/)
    const without = await run('config', '--database-url', '')
    expect(without.stdout).toMatch(/^database\.require_rls +false +default \(auto\)$/m)
    const open = await run('config', '--auth-enabled', 'false')
    expect(open.stdout).toMatch(/^database\.require_rls +false +default \(auto\)$/m)
    const chosen = await run('config', '--database-require-rls', 'false')
    expect(chosen.stdout).toMatch(/^database\.require_rls +false +flag --database-require-rls$/m)

    const json = JSON.parse((await run('config', '--json')).stdout)
    expect(json['server.port']).toEqual({ value: 9000, source: 'file basalt.toml' })
    expect(json['database.url']).toEqual({ value: '[redacted]', source: 'environment BASALT_DATABASE_URL' })
    expect(json['admin.password']).toEqual({ value: '[redacted]', source: 'file basalt.toml' })
    expect(Object.keys(json)).toHaveLength(text.stdout.trimEnd().split('\n').length - 2)
    rmSync(join(directory, 'basalt.toml'))
  })

  test('exits with 2 for an invalid configuration, and lists every fault', async () => {
    expect(await run('config', '--port', 'x', '--metrics-token', 'hunter2')).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'basalt: invalid configuration\n' +
        '  server.port (flag --server-port): "x" is not an integer from 0 to 65535\n' +
        '  metrics.token (flag --metrics-token): the value is not at least 16 characters without spaces\n',
    })
  })

  test('accepts every key as a flag, as every command that reads the configuration does, and some have short names', async () => {
    for (const [short, long] of [
      ['--port', '--server-port'],
      ['--host', '--server-host'],
      ['--data-dir', '--server-data-dir'],
      ['--database-url', '--database-url'],
    ] as const) {
      const value = { '--port': '1', '--database-url': 'postgresql:///x' }[short as string] ?? '127.0.0.9'
      const sources = async (flag: string) => JSON.parse((await run('config', '--json', flag, value)).stdout)
      expect(await sources(short)).toEqual(await sources(long))
    }
  })
})

describe('basalt init', () => {
  const nameIn = (folder: string) =>
    /^app_name = (.*)$/m.exec(readFileSync(join(directory, folder, 'basalt.toml'), 'utf8'))?.[1]

  /** Runs the command in a terminal, where a person enters the line. */
  async function inTerminal(folder: string, line: string) {
    const terminal = createTerminal(['init', folder], { directory, env, input: `${line}\n` }, true)
    Object.assign(terminal.stdin, { isTTY: true })
    await main(terminal)
    return terminal.output
  }

  test('prompts for the name of the application, and suggests that of the folder', async () => {
    const question = 'Name of the application, for its users [My shop]: '
    expect((await inTerminal('my-shop', 'Ada\'s "Shop"')).stdout).toContain(question)
    expect(nameIn('my-shop')).toBe('"Ada\'s \\"Shop\\""')
    // The second run keeps the file, so the name would have no effect.
    expect((await inTerminal('my-shop', 'Other')).stdout).not.toContain(question)
    await inTerminal('song_list', '')
    expect(nameIn('song_list')).toBe('"Song list"')
  })

  test('prompts for nothing without a terminal', async () => {
    expect((await run('init', 'in-a-script')).code).toBe(0)
    expect((await run('init', 'named', '--app-name', 'Shop', '--json')).code).toBe(0)
    expect([nameIn('in-a-script'), nameIn('named')]).toEqual(['"In a script"', '"Shop"'])
  })
})
