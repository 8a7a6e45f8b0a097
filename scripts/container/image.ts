import { type SpawnSyncOptionsWithStringEncoding, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** Reason why this machine cannot check the container, which is no fault of the image. */
export class Unavailable extends Error {}

/** Packages of Debian by their commands. */
const tools = { buildah: 'buildah', mmdebstrap: 'mmdebstrap', runc: 'runc' }
const minute = 60_000

/** Result of a command with its standard output and standard error together. */
interface Result {
  readonly ok: boolean
  readonly hasTimedOut: boolean
  readonly output: string
}

/** Messages of npm and apt about a network that has failed meanwhile. */
const networkFailure =
  /\b(ECONNRESET|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|Temporary failure resolving|Unable to connect)\b/

export function run(command: string, args: readonly string[], timeout = minute, cwd?: string): Result {
  const options: SpawnSyncOptionsWithStringEncoding = {
    encoding: 'utf8',
    timeout,
    cwd,
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'pipe'],
  }
  const { status, stdout, stderr, error } = spawnSync(command, args, options)
  const hasTimedOut = error !== undefined && 'code' in error && error.code === 'ETIMEDOUT'
  return {
    ok: status === 0,
    hasTimedOut,
    output: `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`.trim(),
  }
}

/** Installs the missing tools. @throws Unavailable */
export function requireTools(): void {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) throw new Unavailable('needs root on Linux')
  const missing = Object.entries(tools).filter(([command]) => !run('sh', ['-c', `command -v ${command}`]).ok)
  if (missing.length === 0) return
  const install = `apt-get update -qq && apt-get install -y -qq --no-install-recommends ${missing.map(([, name]) => name).join(' ')}`
  if (!run('sh', ['-c', install], 5 * minute).ok)
    throw new Unavailable(`${missing.map(([command]) => command).join(', ')} cannot be installed`)
}

/** Store of images in a directory of its own, so that nothing of the machine changes. */
export class Images {
  readonly #options: readonly string[]
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
    this.#options = ['--root', join(directory, 'storage'), '--runroot', join(directory, 'run')]
  }

  run(args: readonly string[], timeout = minute, cwd?: string): Result {
    return run('buildah', [...this.#options, ...args], timeout, cwd)
  }

  /** Returns the output of a command that only an unsuitable machine refuses. @throws Unavailable */
  #require(what: string, args: readonly string[], timeout?: number): string {
    const { ok, output } = this.run(args, timeout)
    if (!ok) throw new Unavailable(`cannot ${what}: ${output.split('\n').at(-1)}`)
    return output
  }

  /** Returns the name of a base image: `node:24-slim`, or a stand-in where it cannot be pulled. @throws Unavailable */
  prepareBase(node: string): string {
    const official = 'docker.io/library/node:24-slim'
    if (this.run(['pull', '--quiet', official]).ok) return official
    const standIn = 'localhost/node-stand-in'
    const archive = join(this.#directory, 'debian.tar')
    const sources = ['/etc/apt/sources.list', '/etc/apt/sources.list.d/debian.sources'].filter(existsSync)
    const debian = ['--variant=apt', '--include=ca-certificates,libstdc++6', 'bookworm', archive, ...sources]
    const made = run('env', [`TMPDIR=${this.#directory}`, 'mmdebstrap', ...debian], 6 * minute)
    if (!made.ok) throw new Unavailable(`mmdebstrap: ${made.output.split('\n').at(-1)}`)
    const container = this.#require('create a container', ['from', 'scratch'])
    this.#require('unpack Debian', ['add', '--quiet', container, archive, '/'], 3 * minute)
    addNode(this.#require('mount a container', ['mount', container]), node)
    const settings = [
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      `NODE_EXTRA_CA_CERTS=${certificates}`,
    ]
    this.#require('configure a container', [
      'config',
      ...settings.flatMap((value) => ['--env', value]),
      container,
    ])
    this.#require('store the stand-in', ['commit', '--quiet', '--rm', container, standIn], 3 * minute)
    return standIn
  }

  /** Checks that commands in containers reach the registries that the Dockerfile needs. @throws Unavailable */
  requireNetwork(base: string): void {
    const container = this.#require('create a container', ['from', base])
    for (const command of ['npm view commander@14 version', 'apt-get update -qq'])
      this.#require(
        `run ${command}`,
        ['run', '--isolation', 'chroot', container, '--', 'sh', '-c', command],
        2 * minute,
      )
    this.run(['rm', container])
  }

  /** Builds the image and returns the log. @throws Unavailable when the network fails meanwhile */
  build(base: string, context: string, name: string): string {
    const build = [
      'bud',
      '--isolation',
      'chroot',
      '--layers',
      '--format',
      'docker',
      '--build-arg',
      `BASE=${base}`,
    ]
    const { ok, hasTimedOut, output } = this.run([...build, '--tag', name, context], 15 * minute)
    if (ok) return output
    if (hasTimedOut) throw new Unavailable('the build takes more than 15 minutes')
    const end = output.split('\n').slice(-60).join('\n')
    if (networkFailure.test(end))
      throw new Unavailable(`the network failed during the build: ${networkFailure.exec(end)?.[0]}`)
    throw new Error(`the image cannot be built:\n${end}`)
  }

  /** Returns the image's configuration, and the path of its mounted files. */
  open(image: string): { readonly config: ImageConfig; readonly root: string } {
    const output = this.#require('read an image', ['inspect', '--type', 'image', image], 5 * minute)
    const container = this.#require('create a container', ['from', image])
    const root = this.#require('mount a container', ['mount', container])
    return { config: JSON.parse(output).Docker.config, root }
  }

  close(): void {
    this.run(['umount', '--all'])
    this.run(['rm', '--all'])
    this.run(['rmi', '--all', '--force'])
  }
}

export interface ImageConfig {
  readonly User: string
  readonly WorkingDir: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly StopSignal: string
  readonly Volumes: Readonly<Record<string, object>>
  readonly Healthcheck: { readonly Test: readonly string[] }
}

const certificates = '/etc/ssl/certs/ca-certificates.crt'

/** Adds what `node:24-slim` has beside Debian: Node, npm, and the user node. */
function addNode(root: string, node: string): void {
  const local = join(root, 'usr/local')
  copyFileSync(node, join(local, 'bin/node'))
  chmodSync(join(local, 'bin/node'), 0o755)
  const npm = run('sh', ['-c', 'readlink -f "$(command -v npm)"']).output
  const source = dirname(dirname(resolve(npm)))
  if (!existsSync(join(source, 'bin/npm-cli.js'))) throw new Unavailable('npm is not found')
  mkdirSync(join(local, 'lib/node_modules'), { recursive: true })
  cpSync(source, join(local, 'lib/node_modules/npm'), { recursive: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'))
  for (const [file, line] of [
    ['passwd', 'node:x:1000:1000::/home/node:/bin/sh'],
    ['group', 'node:x:1000:'],
  ] as const)
    writeFileSync(join(root, 'etc', file), `${line}\n`, { flag: 'a' })
  // Certificates of a proxy between this machine and the registries.
  if (existsSync(certificates)) copyFileSync(certificates, join(root, certificates))
}
