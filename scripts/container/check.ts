/**
 * Builds the image of the Dockerfile and starts it, `npm run check:container`. It needs root on Debian, and installs
 * buildah, mmdebstrap and runc. Where something of the machine is missing, it says so and succeeds. A broken image
 * fails.
 */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Container, requireRuntime } from './container.ts'
import { type ImageConfig, Images, requireTools, run, Unavailable } from './image.ts'

const repository = join(import.meta.dirname, '../..')
const work = makeWorkDirectory()
const images = new Images(work)
const report = (message: string) => process.stdout.write(`container: ${message}\n`)

/** Layers that install packages; they depend on manifests only. */
const cachedSteps = ['RUN npm ci --workspace basaltdb --omit=dev', 'RUN npm ci --ignore-scripts']
/** Commands that an image for production does not need. */
const buildTools = ['npm', 'npx', 'yarn', 'corepack', 'gcc', 'cc', 'g++', 'make', 'python3', 'git']

try {
  requireTools()
  const base = images.prepareBase(process.execPath)
  images.requireNetwork(base)
  report(`base ${base}`)
  await check(base)
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  report(`not checked: ${error.message}`)
} finally {
  images.close()
  run('umount', ['--lazy', work])
  run('rm', ['-rf', '--one-file-system', work])
}

async function check(base: string): Promise<void> {
  const context = join(work, 'context')
  copySources(context)
  timed('built', () => images.build(base, context, 'localhost/basalt:1'))
  const first = images.open('localhost/basalt:1')
  checkFiles(first.root)

  const data = makeData('named')
  requireRuntime({ image: first, directory: join(work, 'runtime'), data, user: 1000, env: {} })
  const user = Number(spawnSync('chroot', [first.root, 'id', '-u', first.config.User]).stdout)
  await withContainer(first, { data, user }, async (container) => {
    sql(container, 'create table kept (id int primary key)')
    sql(container, 'insert into kept values (42)')
  })
  report('starts read-only, stops on SIGTERM')

  appendFileSync(join(context, 'packages/server/src/main.ts'), '\n')
  const log = timed('built again', () => images.build(base, context, 'localhost/basalt:2'))
  for (const step of cachedSteps) expectCached(log, step)
  const second = images.open('localhost/basalt:2')
  await withContainer(second, { data, user }, async (container) => {
    const found = sql(container, 'select id from kept')
    if (!found.includes('42')) throw new Error(`/data has lost a row: ${found}`)
  })
  report('keeps dependencies and /data in a new image')

  await withContainer(second, { data: makeData('any'), user: 12_345 }, async () => undefined)
  report('starts as a user without a name')
}

/** Creates the directory of the check. It is in memory if there is enough, because dpkg and buildah synchronize often. */
function makeWorkDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'basalt-container-'))
  if (process.availableMemory() > 10 * 2 ** 30)
    run('mount', ['-t', 'tmpfs', '-o', 'size=8g,mode=755', 'tmpfs', directory])
  return directory
}

/** Copies the files of the repository, with uncommitted changes, to a directory that the check may change. */
function copySources(context: string): void {
  mkdirSync(context)
  const copy = `git ls-files -co --exclude-standard | tar -cf - -T - | tar -xf - -C '${context}'`
  const { ok, output } = run('sh', ['-c', copy], 60_000, repository)
  if (!ok) throw new Unavailable(`the sources cannot be copied: ${output}`)
}

function timed<Result>(what: string, action: () => Result): Result {
  const start = performance.now()
  const result = action()
  report(`${what} in ${Math.round((performance.now() - start) / 1000)} s`)
  return result
}

/** Checks that the image has one Node and no tools for builds. */
function checkFiles(root: string): void {
  const nodes = run('find', [root, '-xdev', '-type', 'f', '-name', 'node', '-size', '+1M']).output.split('\n')
  if (nodes.length !== 1) throw new Error(`expected one Node, found ${nodes.join(', ')}`)
  const commands = ['bin', 'usr/bin', 'usr/local/bin'].flatMap((folder) => readdirSync(join(root, folder)))
  const found = buildTools.filter((name) => commands.includes(name))
  if (found.length > 0) throw new Error(`the image contains ${found.join(', ')}`)
  const packages = readdirSync(join(root, 'basalt/node_modules'))
  const development = ['typescript', 'vitest', 'rolldown'].filter((name) => packages.includes(name))
  if (development.length > 0) throw new Error(`the image contains ${development.join(', ')}`)
}

function expectCached(log: string, step: string): void {
  const lines = log.split('\n')
  const position = lines.findIndex((line) => line.includes(step))
  if (position === -1 || lines[position + 1]?.includes('Using cache') !== true)
    throw new Error(`a change of sources repeats ${step}`)
}

/** Creates a directory as the image's volume is. */
function makeData(name: string): string {
  const path = join(work, `data-${name}`)
  mkdirSync(path)
  chmodSync(path, 0o1777)
  return path
}

async function withContainer(
  image: { readonly config: ImageConfig; readonly root: string },
  { data, user }: { readonly data: string; readonly user: number },
  use: (container: Container) => Promise<void>,
): Promise<void> {
  const directory = mkdtempSync(join(work, 'container-'))
  const env = { BASALT_SERVER_HOST: '127.0.0.1', BASALT_SERVER_PORT: String(await findPort()) }
  const container = new Container({ image, directory, data, user, env })
  try {
    await container.becomeHealthy()
    await use(container)
    const code = await container.stop()
    if (code !== 0) throw new Error(`SIGTERM ended the container with ${code}:\n${container.output}`)
    const { output: left } = run('find', [data, '-name', 'postmaster.pid'])
    if (left !== '') throw new Error(`the embedded PostgreSQL was not stopped:\n${container.output}`)
  } finally {
    container.remove()
  }
}

function sql(container: Container, statement: string): string {
  const { ok, output } = container.exec(['basalt', 'sql', statement])
  if (!ok) throw new Error(`basalt sql "${statement}": ${output}`)
  return output
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
