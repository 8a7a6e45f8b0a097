import { type ChildProcess, spawn } from 'node:child_process'
import { lstat, mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { codeOf, messageOf } from '../../../lib/errors.ts'
import { findFault } from './lockfile.ts'

/** File that is written after an installation. A folder without it is installed again. */
export const installedMarker = join('node_modules', '.installed')
/** Time limit of an installation. A client waits for two minutes. */
const timeLimitMs = 90_000
/** Maximum size of a deploy with its packages, and with the archives that npm downloads. */
const byteLimit = 250_000_000
const fileLimit = 50_000
const measureMs = 2000
/** Maximum number of characters of the problem that npm reports. */
const problemLimit = 1000

/** Environment variables that npm gets: its own configuration, and that of connections. */
const inherited =
  /^(PATH|HOME|USERPROFILE|APPDATA|TMPDIR|TEMP|NPM_.*|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|(HTTPS?|NO|ALL)_PROXY)$/i

/** Packages that could not be installed. The message is for the operator. */
export class InstallFailed extends Error {
  override readonly name = 'InstallFailed'
}

/**
 * Installs the production packages of a folder by `npm ci`, as its lockfile says. Install scripts do not run, because they
 * would be code outside of the process of the functions. The registry is that of the npm configuration of this machine. The
 * lockfile is checked first, and no package may be a link.
 *
 * @param within folder around it, whose size is limited and which has the cache of npm
 * @throws InstallFailed
 */
export async function installPackages(
  folder: string,
  { within, signal }: { readonly within: string; readonly signal: AbortSignal },
): Promise<void> {
  // The default cache grows without a limit.
  const npm = { folder, options: [`--cache=${join(within, 'cache')}`, '--logs-max=0'], signal }
  const fault = await findFault(folder, await readRegistries(npm))
  if (fault !== undefined) throw new InstallFailed(fault)
  const measured = new AbortController()
  const ended = new AbortController()
  const measuring = measure(within, ended.signal).then((excess) => {
    if (excess !== undefined) measured.abort(new Error(excess))
    return excess
  })
  try {
    await runNpm(
      [
        'ci',
        '--omit=dev',
        '--ignore-scripts',
        '--no-workspaces',
        '--no-bin-links',
        // The lockfile was checked. Versions of npm before 11 ignore these options.
        '--allow-git=none',
        '--allow-remote=none',
        '--allow-file=none',
        '--allow-directory=none',
        '--no-audit',
        '--no-fund',
        '--no-progress',
        '--no-update-notifier',
      ],
      { ...npm, signal: AbortSignal.any([signal, measured.signal]) },
    )
  } finally {
    ended.abort()
    await measuring
  }
  const excess = await measuring
  if (excess !== undefined) throw new InstallFailed(excess)
  const marker = join(folder, installedMarker)
  await mkdir(dirname(marker), { recursive: true })
  await writeFile(marker, '')
}

interface Npm {
  readonly folder: string
  /** Options of each command. */
  readonly options: readonly string[]
  readonly signal: AbortSignal
}

/** Returns the addresses of the registries in the npm configuration of this machine. @throws InstallFailed */
async function readRegistries(npm: Npm): Promise<string[]> {
  const output = await runNpm(['config', 'list', '--json'], npm)
  try {
    return Object.entries(JSON.parse(output)).flatMap(([key, value]) =>
      /^(@.+:)?registry$/.test(key) && typeof value === 'string' ? [value] : [],
    )
  } catch {
    throw new InstallFailed('npm shows no configuration')
  }
}

/** Runs npm until it ends or the signal is aborted. Programs that it starts end with it. @throws InstallFailed */
async function runNpm(command: readonly string[], { folder, options, signal }: Npm): Promise<string> {
  requireUnaborted(signal)
  const child = spawn('npm', [...command, ...options], {
    cwd: folder,
    // biome-ignore lint/style/noProcessEnv: npm is configured by the environment of the account
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => inherited.test(name))),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let isLate = false
  const kill = () => killGroup(child)
  const timer = setTimeout(() => {
    isLate = true
    kill()
  }, timeLimitMs)
  signal.addEventListener('abort', kill)
  try {
    const { problem, output } = await outcomeOf(child, folder)
    if (isLate) throw new InstallFailed(`it took longer than ${timeLimitMs / 1000} s`)
    requireUnaborted(signal)
    if (problem !== undefined) throw new InstallFailed(problem)
    return output
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', kill)
  }
}

/** @throws InstallFailed after an abort */
function requireUnaborted({ aborted, reason }: AbortSignal): void {
  if (aborted) throw new InstallFailed(messageOf(reason))
}

/** Waits for the end of npm. Returns what it has written, or its problem. */
async function outcomeOf(
  child: ChildProcess,
  folder: string,
): Promise<{ readonly output: string; readonly problem?: string | undefined }> {
  let [output, errors] = ['', '']
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(0, 100_000)
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(0, 20_000)
  })
  return await new Promise((resolve) => {
    child.on('error', (error) =>
      resolve({
        output: '',
        problem: codeOf(error) === 'ENOENT' ? 'this server has no npm' : messageOf(error),
      }),
    )
    child.on('close', (code, signal) => {
      const problem = summarize(errors, folder) || `npm ended with ${signal ?? `code ${code}`}`
      resolve({ output, ...(code === 0 ? {} : { problem }) })
    })
  })
}

/** Returns the lines that say something about the deploy. */
function summarize(errors: string, folder: string): string {
  const disk = explainDiskError(/^npm (?:error|ERR!) code (\w+)$/m.exec(errors)?.[1])
  if (disk !== undefined) return disk
  return errors
    .replaceAll(folder, '')
    .split('\n')
    .map((line) => line.replace(/^npm (error|ERR!) ?/, '').replace(/\p{Cc}/gu, ''))
    .filter(
      (line) => line.trim() !== '' && !/complete log of this run|logs-max|Unknown cli config/.test(line),
    )
    .join('\n')
    .slice(0, problemLimit)
}

/** Returns the reason for a failed write to the data directory, by the code of the error; undefined for others. */
export function explainDiskError(code: string | undefined): string | undefined {
  if (code === 'ENOSPC' || code === 'EDQUOT') return `the disk of the server has no space left (${code})`
  return ['EROFS', 'EACCES', 'EPERM', 'ENOTDIR', 'EEXIST'].includes(code ?? '')
    ? `the server cannot write to its data directory (${code})`
    : undefined
}

/** Measures the folder again and again, the last time after the end. Returns its excess, if it has one. */
async function measure(folder: string, ended: AbortSignal): Promise<string | undefined> {
  for (;;) {
    await delay(measureMs, undefined, { signal: ended }).catch(() => undefined)
    const isLast = ended.aborted
    const excess = await findExcess(folder)
    if (excess !== undefined || isLast) return excess
  }
}

/** Returns the problem of files that are too large or too many, or lead out of the folder. */
async function findExcess(folder: string): Promise<string | undefined> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const link = entries.find((entry) => entry.isSymbolicLink())
  if (link !== undefined)
    return `${relative(join(folder, 'deploy'), join(link.parentPath, link.name))} is a symbolic link`
  const files = entries.filter((entry) => entry.isFile())
  if (files.length > fileLimit) return `npm has written more than ${fileLimit} files`
  let total = 0
  for (const file of files) {
    // Npm moves files while it works.
    total += await lstat(join(file.parentPath, file.name)).then(
      ({ size }) => size,
      () => 0,
    )
    if (total > byteLimit) return `npm has written more than ${byteLimit} bytes`
  }
  return undefined
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}
