import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type ImageConfig, run, Unavailable } from './image.ts'

export interface ContainerOptions {
  readonly image: { readonly config: ImageConfig; readonly root: string }
  /** Directory of this container's state. */
  readonly directory: string
  /** Directory of this machine behind `/data`. */
  readonly data: string
  readonly user: number
  readonly env: Readonly<Record<string, string>>
}

/**
 * Running container: its root is read-only, `/tmp` is temporary, it has no capabilities, and it shares only the network
 * with this machine.
 */
export class Container {
  readonly #name: string
  readonly #options: ContainerOptions
  readonly #state: readonly string[]
  readonly #process: ChildProcess
  #output = ''

  constructor(options: ContainerOptions) {
    this.#options = options
    this.#name = `basalt-check-${process.pid}-${options.user}`
    mkdirSync(options.directory, { recursive: true })
    writeFileSync(join(options.directory, 'config.json'), JSON.stringify(specification(options)))
    this.#state = ['--root', join(options.directory, 'state')]
    const args = [...this.#state, 'run', '--bundle', options.directory, this.#name]
    this.#process = spawn('runc', args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const collect = (chunk: Buffer) => {
      this.#output += chunk
    }
    this.#process.stdout?.on('data', collect)
    this.#process.stderr?.on('data', collect)
  }

  get output(): string {
    return this.#output
  }

  exec(command: readonly string[]): { readonly ok: boolean; readonly output: string } {
    return run('runc', [...this.#state, 'exec', this.#name, ...command])
  }

  /** Waits until the health check of the image succeeds. */
  async becomeHealthy(): Promise<void> {
    const [, ...test] = this.#options.image.config.Healthcheck.Test
    for (let attempt = 0; attempt < 120; attempt += 1) {
      if (this.#process.exitCode !== null) throw new Error(`the container has ended:\n${this.#output}`)
      if (this.exec(test).ok) return
      await delay(1000)
    }
    throw new Error(`the container does not become healthy:\n${this.#output}`)
  }

  /** Sends the stop signal of the image, and returns the exit code. */
  async stop(): Promise<number | null> {
    const ended = once(this.#process, 'exit')
    run('runc', [...this.#state, 'kill', this.#name, this.#options.image.config.StopSignal])
    const timeout = AbortSignal.timeout(60_000)
    await Promise.race([ended, once(timeout, 'abort')])
    return this.#process.exitCode
  }

  /** Ends what still runs. */
  remove(): void {
    run('runc', [...this.#state, 'delete', '--force', this.#name])
  }
}

/** Checks that this machine can run a container, by one that does nothing. @throws Unavailable */
export function requireRuntime(options: ContainerOptions): void {
  const config = { ...options.image.config, Entrypoint: ['true'], Cmd: [] }
  const nothing = { ...options, image: { ...options.image, config } }
  mkdirSync(options.directory, { recursive: true })
  writeFileSync(join(options.directory, 'config.json'), JSON.stringify(specification(nothing)))
  const state = ['--root', join(options.directory, 'state')]
  const name = `basalt-check-${process.pid}`
  const { ok, output } = run('runc', [...state, 'run', '--bundle', options.directory, name])
  if (!ok) throw new Unavailable(`runc: ${output.split('\n').at(-1)}`)
}

/** Returns the configuration of the OCI runtime specification. Pure. */
function specification({ image, data, user, env }: ContainerOptions): object {
  const { config, root } = image
  const temporary = ['nosuid', 'nodev']
  return {
    ociVersion: '1.0.2',
    process: {
      user: { uid: user, gid: user },
      args: [...config.Entrypoint, ...config.Cmd],
      env: [...config.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
      cwd: config.WorkingDir,
      noNewPrivileges: true,
    },
    root: { path: root, readonly: true },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
      {
        destination: '/dev/shm',
        type: 'tmpfs',
        source: 'shm',
        options: [...temporary, 'mode=1777', 'size=64m'],
      },
      { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: [...temporary, 'mode=1777'] },
      { destination: '/data', type: 'bind', source: data, options: ['rbind', 'rw'] },
    ],
    linux: { namespaces: ['pid', 'mount', 'ipc', 'uts'].map((type) => ({ type })) },
  }
}
