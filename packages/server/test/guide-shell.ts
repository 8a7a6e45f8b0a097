import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { command, inheritedEnvironment, sourceCommand } from './command.ts'
import { createDirectory, isRoot, unprivileged } from './server-process.ts'
import { waitFor } from './wait-for.ts'

/** Output of a block of commands as a terminal would show it, with the commands that failed. */
export interface Printed {
  readonly output: string
  readonly failures: string
}

/** Reader's shell in a directory of its own, with a server that is not yet started. */
export interface Shell extends AsyncDisposable {
  readonly directory: string
  /** Port on which `npm start` listens. */
  readonly port: number
  /** Free port for a server of the reader's own. */
  readonly receiverPort: number
  /** Runs commands; their variables and functions remain. */
  run(script: string): Promise<Printed>
  /** Runs commands in the background of a terminal, in place of the previous ones. */
  keepRunning(terminal: string, script: string): Promise<void>
  /** Returns true if a server was started. */
  isServing(): boolean
  /** Returns the output of a terminal so far. */
  shownIn(terminal: string): string
}

const repositoryFolder = (name: string) => fileURLToPath(new URL(`../../../${name}`, import.meta.url))
const blockTimeoutMs = 180_000

/** @param loadsPackages true to run the command from the sources, which load packages of the repository without a build */
export async function openShell({ loadsPackages = false } = {}): Promise<Shell> {
  // For root, PostgreSQL would keep its files outside of the directory.
  const account = isRoot ? unprivileged : undefined
  const own = createDirectory(account, '.basalt')
  const directory = own.path
  const port = await findFreePort()
  const receiverPort = await findFreePort()
  const inDirectory = (name: string) => join(directory, name)
  // A reader installs packages that a page names; here they are those of the repository.
  for (const name of ['examples', 'node_modules']) symlinkSync(repositoryFolder(name), inDirectory(name))
  installCommands(inDirectory('.bin'), loadsPackages ? sourceCommand : command)
  const inherited = inheritedEnvironment()
  const bash = spawn('bash', ['--noprofile', '--norc', '-s'], {
    cwd: directory,
    env: {
      ...inherited,
      PATH: `${inDirectory('.bin')}:${inherited.PATH}`,
      HOME: directory,
      BASALT_SERVER_PORT: String(port),
      // Format of a terminal.
      BASALT_LOGGING_FORMAT: 'pretty',
      FAILURES: inDirectory('.failures'),
    },
    stdio: ['pipe', 'ignore', 'ignore'],
    ...account,
  })
  // Jobs get process groups of their own. Failing commands are recorded, in functions and pipelines, too.
  bash.stdin.write(`set -mE -o pipefail; trap 'echo "$BASH_COMMAND" >> "$FAILURES"' ERR\n`)
  const terminals = new Map<string, number>()
  let blocks = 0

  /** Passes a script to bash without using its standard input. */
  function send(script: string, inBackground: boolean): string {
    blocks += 1
    const name = inDirectory(`.block-${blocks}`)
    writeFileSync(name, script)
    const work = `source ${name} > ${name}.out 2>&1 < /dev/null`
    bash.stdin.write(inBackground ? `(${work}) & echo $! > ${name}.pid\n` : `${work}; touch ${name}.done\n`)
    return name
  }

  async function endTerminal(terminal: string): Promise<void> {
    const pid = terminals.get(terminal)
    if (pid === undefined) return
    signalGroup(pid, 'SIGTERM')
    await waitFor(`terminal ${terminal} to end`, () => !signalGroup(pid, 0))
    terminals.delete(terminal)
  }

  const files = new Map<string, string>()
  return {
    directory,
    port,
    receiverPort,
    async run(script) {
      rmSync(inDirectory('.failures'), { force: true })
      const name = send(script, false)
      await waitFor(`the end of ${script}`, () => existsSync(`${name}.done`), blockTimeoutMs)
      return {
        output: readFileSync(`${name}.out`, 'utf8'),
        failures: readIfThere(inDirectory('.failures')),
      }
    },
    async keepRunning(terminal, script) {
      await endTerminal(terminal)
      const name = send(script, true)
      const pid = await waitFor(
        'the process id',
        () => existsSync(`${name}.pid`) && (Number(readFileSync(`${name}.pid`)) || undefined),
      )
      terminals.set(terminal, pid)
      files.set(terminal, `${name}.out`)
      const show = () => `${script} in the terminal ${terminal}`
      // A command that has printed something is running.
      await waitFor(show(), () => readIfThere(`${name}.out`) !== '', blockTimeoutMs)
      if (terminal === 'server') await waitFor(show(), () => isHealthy(port), blockTimeoutMs)
    },
    isServing: () => terminals.has('server'),
    shownIn: (terminal) => readFileSync(files.get(terminal) ?? '', 'utf8'),
    async [Symbol.asyncDispose]() {
      for (const terminal of [...terminals.keys()].toReversed()) await endTerminal(terminal)
      await endOf(bash)
      await own[Symbol.asyncDispose]()
    },
  }
}

/** Installs `npm` and `npx` of a reader's folder, without downloading anything. */
function installCommands(folder: string, executable: string): void {
  mkdirSync(folder)
  const basalt = `exec '${process.execPath}' '${executable}'`
  const install = (name: string, lines: readonly string[]) =>
    writeFileSync(join(folder, name), ['#!/bin/bash', ...lines, ''].join('\n'), { mode: 0o755 })
  install('npm', ['[ "$*" = start ] || exit 2', `${basalt} start`])
  install('node', [`exec '${process.execPath}' --conditions=@basaltdb/source "$@"`])
  install('npx', [
    'program=$1; shift',
    `[ "$program" = basalt ] && ${basalt} "$@"`,
    `[ "$program" = node ] && exec '${process.execPath}' --conditions=@basaltdb/source "$@"`,
    'exit 2',
  ])
}

/** Reads a file, or returns an empty text: a block that has only just started has no output yet. */
function readIfThere(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

/** @returns true if the group exists */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}

async function isHealthy(port: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined)
  return response?.status === 200
}

async function endOf(bash: ChildProcess): Promise<void> {
  const closed = new Promise((resolve) => bash.once('close', resolve))
  bash.stdin?.end('exit\n')
  await closed
}

async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}
