import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { linkDependencies } from './installed-package.ts'
import { sendRequest } from './send-request.ts'
import { createDirectory, isRoot, runCommand, startServer, unprivileged } from './server-process.ts'
import { testAdminPassword } from './test-config.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const directory = createDirectory()
const installed = join(directory.path, 'node_modules', 'basaltdb')
const creator = join(directory.path, 'node_modules', 'create-basaltdb')
const executable = join(installed, 'bin', 'basalt.js')

/** Lists the files below a directory by their relative paths. */
function listFiles(path: string): string[] {
  const entries = readdirSync(path, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
}

function run(program: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  return stdout
}

// `npm pack` runs as for a maintainer. The tarball is unpacked like an installation, next to the dependencies.
beforeAll(() => {
  const workspaces = ['--workspace', 'basaltdb', '--workspace', 'create-basaltdb']
  run('npm', ['pack', ...workspaces, '--pack-destination', directory.path], root)
  run('tar', ['-xzf', 'basaltdb-0.1.0.tgz'], directory.path)
  mkdirSync(dirname(installed))
  run('mv', ['package', installed], directory.path)
  run('tar', ['-xzf', 'create-basaltdb-0.1.0.tgz'], directory.path)
  run('mv', ['package', creator], directory.path)
  linkDependencies(dirname(installed))
})

afterAll(() => directory[Symbol.asyncDispose]())

test('package › contains what runs, README, licence and documents, and neither sources, tests nor source maps', () => {
  const files = listFiles(installed)
  expect(files).toEqual(
    expect.arrayContaining([
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'SECURITY.md',
      'bin/basalt.js',
      'dashboard/index.html',
      'dashboard/graphiql.html',
      'dashboard/licenses-graphiql.md',
      'dashboard/licenses-index.md',
      'dist/licenses.md',
      'dist/main.js',
      'dist/phone-library.js',
      'dist/swagger-ui/swagger-ui-bundle.js',
      'deploy/basalt.service',
      'deploy/kubernetes.yaml',
      'deploy/nginx.conf',
      'docs/guides/deployment.md',
      'docs/generated/configuration.md',
      'examples/music-shop/chinook.sql',
    ]),
  )
  expect(
    files.filter((name) => !name.startsWith('examples/') && /\.(ts|map|tgz)$|\.test\./.test(name)),
  ).toEqual([])
  expect(readFileSync(join(installed, 'LICENSE'), 'utf8')).toContain('Apache License')
})

test('package › contains the dashboard without its build', () => {
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(installed, 'package.json'), 'utf8'),
  )
  const needed = Object.keys({ ...dependencies, ...optionalDependencies })
  expect(needed.filter((name) => /react|vite|codemirror|uplot|wouter/.test(name))).toEqual([])
  expect(listFiles(join(installed, 'dashboard')).filter((name) => name.endsWith('.js.br'))).not.toEqual([])
})

test.runIf(isRoot)('package › an account that may only read the clone finds the dashboard built', () => {
  const script = join(root, 'scripts', 'build-dashboard.js')
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
    encoding: 'utf8',
    ...unprivileged,
  })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' })
})

test('packing › leaves no file in the checkout', () => {
  const copies = [
    'dashboard',
    'dist',
    'README.md',
    'LICENSE',
    'CHANGELOG.md',
    'SECURITY.md',
    'deploy',
    'docs',
    'examples',
  ]
  const found = readdirSync(join(root, 'packages', 'server')).filter((name) => copies.includes(name))
  expect(found).toEqual([])
})

test.each(['build-server.js', 'build-dashboard.js'])(
  'packing › leaves no file in the checkout when %s fails',
  async (failing) => {
    await using checkout = createDirectory()
    const pathOf = (...names: string[]) => join(checkout.path, ...names)
    const clone = pathOf('packages', 'server')
    for (const name of [clone, pathOf('scripts'), pathOf('deploy'), pathOf('docs'), pathOf('examples')])
      mkdirSync(name, { recursive: true })
    for (const name of ['README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md'])
      writeFileSync(pathOf(name), '')
    for (const name of ['scripts/package-files.js', 'packages/server/package.json'])
      copyFileSync(join(root, name), pathOf(name))
    writeFileSync(pathOf('package.json'), '{ "type": "module", "workspaces": ["packages/*"] }')
    for (const name of ['ensure-installed.js', 'build-server.js', 'build-dashboard.js'])
      writeFileSync(pathOf('scripts', name), name === failing ? 'process.exit(7)' : '')
    const { status } = spawnSync('npm', ['pack', '--workspace', 'basaltdb'], { cwd: checkout.path })
    expect(status).not.toBe(0)
    expect(readdirSync(clone)).toEqual(['package.json'])
  },
)

test('installed package › starts a server with the embedded database, serves requests and stops', async () => {
  await using data = createDirectory()
  const version = await runCommand(['version'], { executable })
  expect(version).toMatchObject({ code: 0, stderr: '' })
  await using server = await startServer({ executable, config: { 'server.data_dir': data.path } })
  const health = await fetch(`${server.url}/health`)
  expect(health.status).toBe(200)
  const guide = await fetch(`${server.url}/api/docs/guides/deployment`)
  expect(guide.status).toBe(200)
  const page = await (await fetch(`${server.url}/admin`)).text()
  const [, script = ''] = /<script [^>]*src="([^"]+)"/.exec(page) ?? []
  const asset = await fetch(server.url + script, { headers: { 'accept-encoding': 'br' } })
  expect([asset.status, asset.headers.get('content-encoding')]).toEqual([200, 'br'])
  const graphiql = await (await fetch(`${server.url}/api/docs/graphql`)).text()
  const [, editor = ''] = /<script [^>]*src="([^"]+)"/.exec(graphiql) ?? []
  expect(editor).toMatch(/^\/api\/docs\/graphql\/assets\//)
  expect((await fetch(server.url + editor)).status).toBe(200)
  expect(await server.stop()).toEqual({ code: 0, signal: null })
})

test('installed package › makes images smaller in a separate process', async () => {
  await using data = createDirectory()
  const config = { 'server.data_dir': data.path, 'storage.enabled': 'true' }
  await using server = await startServer({ executable, config })
  const { json } = await sendRequest('POST', `${server.url}/api/admin/auth`, {
    body: { password: testAdminPassword },
  })
  const { token } = json
  const headers = { authorization: `Bearer ${token}` }
  const body = { name: 'pictures', public: true }
  const bucket = await sendRequest('POST', `${server.url}/api/storage/buckets`, { token, body })
  expect(bucket.status).toBe(201)
  const picture = await sharp({ create: { width: 40, height: 20, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  const address = `${server.url}/api/storage/pictures/red.png`
  const sent = await fetch(address, { method: 'PUT', headers, body: new Uint8Array(picture) })
  expect(sent.status).toBe(201)
  const smaller = await fetch(`${address}?w=10`)
  expect(smaller.status).toBe(200)
  const { width, height } = await sharp(Buffer.from(await smaller.arrayBuffer())).metadata()
  expect([width, height]).toEqual([10, 5])
})

test('installed package › create-basaltdb creates the same project as basalt init, without a dependency', () => {
  expect(listFiles(creator).toSorted()).toEqual([
    'LICENSE',
    'README.md',
    'bin/create-basaltdb.js',
    'dist/project.js',
    'package.json',
  ])
  const manifests = [installed, creator].map((path) =>
    JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')),
  )
  expect(manifests[1]).not.toHaveProperty('dependencies')
  expect(manifests[1].version).toBe(manifests[0].version)
  const [created, initialized] = (
    [
      ['created', [join(creator, 'bin', 'create-basaltdb.js')]],
      ['initialized', [executable, 'init']],
    ] as const
  ).map(([name, command]) => {
    const folder = join(directory.path, name)
    mkdirSync(folder)
    const printed = run(process.execPath, [...command, 'my-app'], folder)
    const files = listFiles(join(folder, 'my-app')).toSorted()
    // The name of the migration contains the time.
    const untimed = (text: string) => text.replaceAll(/\d{14}/g, 'TIME')
    return {
      printed: untimed(printed),
      files: files.map((path) => [untimed(path), readFileSync(join(folder, 'my-app', path), 'utf8')]),
    }
  })
  expect(created).toEqual(initialized)
  expect(created?.printed).toContain('created my-app/migrations/TIME_create_todo.sql\n')
  expect(created?.printed).toContain('\nNext: cd my-app && npm install && npx basalt dev\n')
  const project = JSON.parse(readFileSync(join(directory.path, 'created', 'my-app', 'package.json'), 'utf8'))
  expect(project.devDependencies).toEqual({ basaltdb: `^${manifests[0].version}` })
})

test('installed package › create-basaltdb explains wrong arguments', () => {
  const command = [join(creator, 'bin', 'create-basaltdb.js'), 'one', 'two']
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' })
  expect({ status, stdout, stderr }).toEqual({
    status: 2,
    stdout: '',
    stderr:
      'create-basaltdb: expected one directory, not 2\nUsage: npm create basaltdb [directory] [-- --app-name NAME --json]\n',
  })
})
