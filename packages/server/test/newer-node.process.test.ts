import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDirectory } from './server-process.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const directory = createDirectory()
const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const name = `node-linux-${process.arch}`
const version: string = optionalDependencies[name]

/** Returns the tarball of a package whose `bin/node` is the Node of the tests. */
function packNode(): Buffer {
  const folder = join(directory.path, 'node', 'package')
  mkdirSync(join(folder, 'bin'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version }))
  writeFileSync(join(folder, 'LICENSE'), 'MIT')
  writeFileSync(join(folder, 'bin', 'node'), `#!/bin/sh\nexec '${process.execPath}' "$@"\n`)
  chmodSync(join(folder, 'bin', 'node'), 0o755)
  const { status, stdout } = spawnSync('tar', ['-czf', '-', '-C', join(folder, '..'), 'package'])
  expect(status).toBe(0)
  return stdout
}

/** Requests that the registry has received, as paths. */
const requests: string[] = []
let tarball: Buffer = Buffer.alloc(0)
const registry = createServer(({ url = '' }, response) => {
  requests.push(url)
  if (url.endsWith('.tgz')) return void response.end(tarball)
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  const dist = { tarball: `${addressOf()}/${name}.tgz`, integrity }
  const manifest = { name, version, dist }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions: { [version]: manifest } }))
})
const addressOf = () => `http://127.0.0.1:${(registry.address() as AddressInfo).port}`

beforeAll(async () => {
  tarball = packNode()
  // Node 20 as far as the command sees: the tests run under one Node only.
  writeFileSync(
    join(directory.path, 'older.cjs'),
    "Object.defineProperty(process, 'version', { value: 'v20.0.0' })\nObject.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })\n",
  )
  registry.listen(0, '127.0.0.1')
  await once(registry, 'listening')
})
afterAll(async () => {
  registry.close()
  await directory[Symbol.asyncDispose]()
})

/** Makes an installed package whose command prints its arguments. */
function install(folder: string): string {
  const installed = join(directory.path, folder, 'node_modules', 'basaltdb')
  mkdirSync(join(installed, 'dist'), { recursive: true })
  cpSync(join(root, 'packages/server/bin'), join(installed, 'bin'), { recursive: true })
  writeFileSync(join(installed, 'package.json'), '{ "type": "module" }')
  writeFileSync(
    join(installed, 'dist', 'main.js'),
    `export function main({ argv, exit }) { console.log(argv.slice(2).join(' ')); exit(3) }`,
  )
  return installed
}

async function runUnderOlderNode(installed: string, address: string) {
  const args = [
    '--require',
    join(directory.path, 'older.cjs'),
    join(installed, 'bin/basalt.js'),
    'status',
    '--json',
  ]
  const cache = join(directory.path, 'cache')
  const env = {
    PATH: process.env.PATH,
    npm_config_registry: address,
    npm_config_cache: cache,
    npm_config_fetch_retries: '0',
  }
  const child = spawn(process.execPath, args, { cwd: directory.path, env })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

const answer = { code: 3, stdout: 'status --json\n' }
const notice = `basalt: this is Node v20.0.0; installing Node ${version} from npm, once (121 MB)\n`

describe('basalt under an older Node', () => {
  test('installs Node with the first command, also with two at once, and keeps it', async () => {
    const installed = install('first')
    const both = await Promise.all([1, 2].map(() => runUnderOlderNode(installed, addressOf())))
    expect(both).toEqual([1, 2].map(() => ({ ...answer, stderr: notice })))
    expect(readdirSync(installed).toSorted()).toEqual(['bin', 'dist', `node-v${version}`, 'package.json'])
    const before = requests.length
    expect(await runUnderOlderNode(installed, addressOf())).toEqual({ ...answer, stderr: '' })
    expect(requests.length).toBe(before)
  })

  test('uses the package of Node that the project depends on, unless it is too old', async () => {
    const installed = install('dependency')
    const node = join(installed, '..', name)
    cpSync(join(directory.path, 'node', 'package'), node, { recursive: true })
    expect(await runUnderOlderNode(installed, 'http://127.0.0.1:9')).toEqual({ ...answer, stderr: '' })
    writeFileSync(join(node, 'package.json'), JSON.stringify({ name, version: '20.0.0' }))
    expect(await runUnderOlderNode(installed, addressOf())).toEqual({ ...answer, stderr: notice })
  })

  test('names the alternatives when the registry is unavailable, and leaves no file', async () => {
    const installed = install('offline')
    const { code, stdout, stderr } = await runUnderOlderNode(installed, 'http://127.0.0.1:9')
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(`${notice}basalt: cannot install Node ${version}: `)
    expect(stderr).toContain(
      `Do one of the following:
- install Node 24 or later
- run the command once as the owner of ${installed}, with access to the npm registry
- add the package to your project: npm install ${name}@${version}
`,
    )
    expect(readdirSync(installed).toSorted()).toEqual(['bin', 'dist', 'package.json'])
  })
})
