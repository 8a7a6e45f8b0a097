import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { basaltHere } from '../../../test/terminal.ts'
import { createTestApp, type TestApp } from '../../../test/test-app.ts'
import { waitFor } from '../../../test/wait-for.ts'

let app: TestApp
let directory: string
let projects = 0

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'basalt-functions-'))
  app = await createTestApp({ config: { 'server.data_dir': join(directory, 'data') } })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true, force: true })
})

async function run(...args: readonly string[]) {
  const env = { BASALT_URL: app.url, BASALT_ADMIN_TOKEN: await app.adminToken() }
  return await basaltHere(['functions', ...args], { directory, env })
}

function write(project: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(project, path)), { recursive: true })
    writeFileSync(join(project, path), content)
  }
}

/** Makes a project with its packages. @returns its folder */
function createProject(files: Readonly<Record<string, string>> = {}): string {
  projects += 1
  const project = join(directory, `project-${projects}`)
  const lock = {
    lockfileVersion: 3,
    packages: {
      '': { dependencies: { a: '1.0.0' }, devDependencies: { tool: '1.0.0' } },
      'node_modules/a': { version: '1.0.0', dependencies: { b: '1.0.0' } },
      'node_modules/a/node_modules/b': { version: '1.0.0' },
      'node_modules/tool': { version: '1.0.0', dev: true },
    },
  }
  write(project, {
    'package.json': JSON.stringify({ type: 'module', dependencies: { a: '1.0.0' } }),
    'package-lock.json': JSON.stringify(lock),
    'functions/hello.ts': 'export default 1',
    'functions/hello.test.ts': 'not deployed',
    'functions/.env': 'SECRET=not deployed',
    'functions/lib/price.ts': `export const price = ${projects}`,
    'node_modules/.bin/a': 'not deployed',
    'node_modules/a/index.js': 'a',
    'node_modules/a/node_modules/b/index.js': 'b',
    'node_modules/tool/index.js': 'not deployed',
    '.env': 'not deployed',
    ...files,
  })
  return project
}

async function deployed(project: string) {
  const { code, stdout, stderr } = await run('deploy', '--project', project, '--json')
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^\d+ files, \d+ to send\n$/)])
  return JSON.parse(stdout)
}

/** Makes the files of one of our packages as it is published, because Node strips no types of packages. */
function publishedPackage(name: string): Record<string, string> {
  const folder = new URL(`../../../../${name}/src/`, import.meta.url).pathname
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !/\btests?\b|\.test\.ts$/.test(path),
  )
  const files = sources.map((path): [string, string] => {
    const code = stripTypeScriptTypes(readFileSync(join(folder, path), 'utf8'))
    return [path.replace(/\.ts$/, '.js'), code.replaceAll(".ts'", ".js'")]
  })
  const manifest = { name: `@basaltdb/${name}`, type: 'module', exports: './index.js' }
  return Object.fromEntries(
    [...files, ['package.json', JSON.stringify(manifest)] as const].map(([path, text]) => [
      `node_modules/@basaltdb/${name}/${path}`,
      text,
    ]),
  )
}

/** Makes a function that returns a version and that of its package. */
function versionFunction(version: number): string {
  return `
    import { route } from '@basaltdb/functions'
    import { name } from 'a'
    export default route('GET /version', { access: 'anonymous', admin: true }, async () => ({ version: ${version} as number, name }))`
}

describe('basalt functions', () => {
  test('deploys the folder with the packages that it needs, lists deploys and rolls back', async () => {
    const project = createProject()
    const { deploy, sent } = await deployed(project)
    expect([sent, deploy.fileCount, deploy.isLive]).toEqual([5, 5, true])
    const folder = join(directory, 'data', 'functions', deploy.hash)
    await waitFor('the folder', () => existsSync(folder))
    const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    expect(paths.toSorted()).toEqual([
      'functions/hello.ts',
      'functions/lib/price.ts',
      'node_modules/a/index.js',
      'node_modules/a/node_modules/b/index.js',
      'package.json',
    ])
    expect(readFileSync(join(folder, 'node_modules/a/node_modules/b/index.js'), 'utf8')).toBe('b')

    // The same files are the same deploy, and only changed ones are sent.
    expect(await deployed(project)).toEqual({ deploy, sent: 0, admin: [] })
    write(project, { 'functions/hello.ts': 'export default 2' })
    const next = await deployed(project)
    expect([next.sent, next.deploy.hash === deploy.hash]).toEqual([1, false])
    const listed = await run('list')
    expect(listed.stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
      ['deploy', 'live', 'files'],
      [expect.any(String), expect.any(String), expect.any(String)],
      [next.deploy.hash.slice(0, 12), 'yes', '5'],
      [deploy.hash.slice(0, 12), '5', '198 B'].slice(0, 2).concat(expect.any(String)),
      [''],
    ])
    expect(await run('rollback')).toEqual({ code: 0, stdout: `${deploy.hash} is live\n`, stderr: '' })
    expect(await run('rollback')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'basalt: there is no earlier deploy\n',
    })
    expect(
      JSON.parse((await run('list', '--json')).stdout).map(
        ({ hash, isLive }: { hash: string; isLive: boolean }) => [hash, isLive],
      ),
    ).toContainEqual([deploy.hash, true])
  })

  test('serves the live deploy on every node, during deploys and rollbacks, and after a restart', async () => {
    const project = createProject({
      ...publishedPackage('functions'),
      ...publishedPackage('client'),
      'package-lock.json': JSON.stringify({
        packages: {
          '': { dependencies: { a: '1', '@basaltdb/functions': '1' } },
          'node_modules/a': {},
          'node_modules/@basaltdb/functions': { dependencies: { '@basaltdb/client': '1' } },
          'node_modules/@basaltdb/client': {},
        },
      }),
      'node_modules/a/package.json': '{"name":"a","type":"module","exports":"./index.js"}',
      'node_modules/a/index.js': `export const name = 'a'`,
      'functions/hello.ts': versionFunction(1),
    })
    const config = { 'server.data_dir': join(directory, 'second') }
    const second = await createTestApp({ database: app.database, config })
    const served = async (node: TestApp) => (await node.request('GET', '/api/functions/version')).text
    const waitForVersion = async (version: number, nodes: readonly TestApp[]) => {
      for (const node of nodes)
        await waitFor(
          `version ${version}`,
          async () => (await served(node)) === `{"version":${version},"name":"a"}`,
        )
    }
    try {
      expect((await deployed(project)).admin).toEqual(['hello'])
      await waitForVersion(1, [app, second])
      expect((await run('list')).stdout).toMatch(/\nfunctions with admin: true: hello\n$/)
      write(project, { 'functions/hello.ts': versionFunction(2) })
      let isDone = false
      const answers = new Set<string>()
      const readers = [app, second].map(async (node) => {
        while (!isDone) answers.add(await served(node))
      })
      await deployed(project)
      await waitForVersion(2, [app, second])
      expect((await run('rollback')).code).toBe(0)
      await waitForVersion(1, [app, second])
      isDone = true
      await Promise.all(readers)
      expect([...answers].toSorted()).toEqual(['{"version":1,"name":"a"}', '{"version":2,"name":"a"}'])
    } finally {
      await second[Symbol.asyncDispose]()
    }
    await using restarted = await createTestApp({ database: app.database, config })
    await waitForVersion(1, [restarted])

    // A deploy that cannot be loaded replaces nothing.
    write(project, { 'functions/hello.ts': 'import "absent"' })
    const { code, stdout, stderr } = await run('deploy', '--project', project)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(
      `basalt: the functions cannot be loaded: hello.ts: Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'absent' imported from functions/hello.ts\n`,
    )
    await waitForVersion(1, [app])
  })

  test('deploys a project without packages', async () => {
    const project = join(directory, 'plain')
    write(project, { 'package.json': '{"type":"module"}', 'functions/a.ts': '1' })
    expect((await deployed(project)).deploy.fileCount).toBe(2)
  })

  test('sends large contents in several archives', async () => {
    const large = Object.fromEntries(
      Array.from({ length: 3 }, (_, index) => [
        `functions/large-${index}.json`,
        `${index}`.repeat(3_000_000),
      ]),
    )
    expect((await deployed(createProject(large))).deploy.totalBytes).toBeGreaterThan(9_000_000)
  })

  test.each([
    [
      'without functions',
      (project: string) => rmSync(join(project, 'functions'), { recursive: true }),
      /functions has no functions: create one/,
    ],
    [
      'without package.json',
      (project: string) => rmSync(join(project, 'package.json')),
      /has no package.json: run npm init/,
    ],
    [
      'without a lockfile',
      (project: string) => rmSync(join(project, 'package-lock.json')),
      /has no package-lock.json of npm 7 or later: run npm install/,
    ],
    [
      'with a broken lockfile',
      (project: string) => writeFileSync(join(project, 'package-lock.json'), '{'),
      /package-lock.json cannot be read/,
    ],
    [
      'with an outdated lockfile',
      (project: string) =>
        writeFileSync(join(project, 'package-lock.json'), '{"packages": {"": {"dependencies": {"c": "1"}}}}'),
      /package-lock.json lacks c, which package.json needs: run npm install/,
    ],
    [
      'without its packages',
      (project: string) => rmSync(join(project, 'node_modules/a'), { recursive: true }),
      /node_modules\/a is not installed: run npm ci/,
    ],
    [
      'with a symbolic link',
      (project: string) => symlinkSync('/etc/passwd', join(project, 'functions/link.ts')),
      /link.ts is no regular file/,
    ],
    [
      'with too many bytes',
      (project: string) => writeFileSync(join(project, 'functions/large.bin'), Buffer.alloc(50_000_000)),
      /have more than 50.0 MB: move packages/,
    ],
    [
      'with native modules of another platform',
      (project: string) => writeFileSync(join(project, 'node_modules/a/x.node'), 'MZ'.padEnd(40)),
      /native modules for another platform than .*: a \(win32\)/,
    ],
  ])('refuses a project %s, and changes nothing', async (_case, spoil, problem) => {
    const project = createProject()
    spoil(project)
    const live = await app.sql('select hash from basalt.function_live')
    const { code, stdout, stderr } = await run('deploy', '--project', project)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(problem)
    expect(await app.sql('select hash from basalt.function_live')).toEqual(live)
  })

  test('deploys a project whose dependencies have the server, without it', async () => {
    const lock = {
      packages: {
        '': { dependencies: { basaltdb: '1', a: '1' } },
        'node_modules/basaltdb': { dependencies: { pg: '1' } },
        'node_modules/pg': {},
        'node_modules/a': {},
      },
    }
    const project = createProject({
      'package.json': JSON.stringify({ type: 'module', dependencies: { basaltdb: '1', a: '1' } }),
      'package-lock.json': JSON.stringify(lock),
      'node_modules/basaltdb/index.js': 'not deployed',
      'node_modules/pg/index.js': 'not deployed',
    })
    symlinkSync('index.js', join(project, 'node_modules/basaltdb/link.js'))
    expect((await deployed(project)).deploy.fileCount).toBe(4)
  })

  test('sends no lockfile that installs the server', async () => {
    const server = { version: '1.0.0', integrity: 'sha512-AA==' }
    const lock = {
      lockfileVersion: 3,
      packages: { '': { dependencies: { basaltdb: '1' } }, 'node_modules/basaltdb': server },
    }
    const project = createProject({
      'package.json': '{"dependencies":{"basaltdb":"1"}}',
      'package-lock.json': JSON.stringify(lock),
    })
    expect(await run('deploy', '--project', project, '--install')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'basalt: package-lock.json has basaltdb, which functions do not need: move it to devDependencies (npm install --save-dev basaltdb)\n',
    })
  })

  test('sends no lockfile with a package that is not from a registry', async () => {
    const project = createProject()
    const fault = async (entry: object) => {
      const lock = { lockfileVersion: 3, packages: { '': {}, 'node_modules/a': entry } }
      write(project, {
        'package.json': '{}',
        'package-lock.json': JSON.stringify(lock),
      })
      return await run('deploy', '--project', project, '--install')
    }
    for (const [entry, problem] of [
      [{ resolved: 'packages/a', link: true }, 'is a link to a folder, which the server does not have'],
      [{ version: 'git+https://github.com/a/a.git' }, 'has no version of a registry'],
    ] as const) {
      expect(await fault(entry)).toEqual({
        code: 1,
        stdout: '',
        stderr: `basalt: package-lock.json has "node_modules/a", which ${problem}: deploy without --install\n`,
      })
    }
  })
})
