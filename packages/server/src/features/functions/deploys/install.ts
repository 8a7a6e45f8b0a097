import { type ChildProcess, spawn } from 'node:child_process'
import { lstat, readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { codeOf, messageOf } from '../../../lib/errors.ts'
import { findLockProblem } from './lockfile.ts'

/** Time limit of an installation. A client waits for two minutes. */
const timeLimitMs = 90_000
/** Maximum size of the installed packages. */
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
 * @throws InstallFailed
 */
export async function installPackages(folder: string): Promise<void> {
  const refused = await findLockProblem(folder)
  if (refused !== undefined) throw new InstallFailed(refused)
  const child = spawn(
    'npm',
    [
      'ci',
      '--omit=dev',
      '--ignore-scripts',
      '--no-workspaces',
      '--no-bin-links',
      // Npm would run programs for a git repository. Earlier versions of npm ignore both options.
      '--allow-git=none',
      '--allow-directory=none',
      '--no-audit',
      '--no-fund',
      '--no-progress',
      '--no-update-notifier',
    ],
    {
      cwd: folder,
      // biome-ignore lint/style/noProcessEnv: npm is configured by the environment of the account
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => inherited.test(name))),
      // Programs that npm starts end with it.
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  let limit: string | undefined
  const stop = (reason: string) => {
    limit ??= reason
    killGroup(child)
  }
  const timer = setTimeout(() => stop(`it took longer than ${timeLimitMs / 1000} s`), timeLimitMs)
  const measuring = setInterval(
    () => void findExcess(folder).then((excess) => excess && stop(excess)),
    measureMs,
  )
  try {
    const problem = await outcomeOf(child)
    const excess = limit ?? problem ?? (await findExcess(folder)) ?? (await findLink(folder))
    if (excess !== undefined) throw new InstallFailed(excess)
  } finally {
    clearTimeout(timer)
    clearInterval(measuring)
  }
}

/** Waits for the end of npm. Returns its problem; undefined after success. */
async function outcomeOf(child: ChildProcess): Promise<string | undefined> {
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(0, 20_000)
  })
  return await new Promise((resolve) => {
    child.on('error', (error) =>
      resolve(codeOf(error) === 'ENOENT' ? 'this server has no npm' : messageOf(error)),
    )
    child.on('close', (code, signal) =>
      resolve(code === 0 ? undefined : summarize(errors) || `npm ended with ${signal ?? `code ${code}`}`),
    )
  })
}

/** Returns the lines that say something about the deploy. */
function summarize(errors: string): string {
  return errors
    .split('\n')
    .map((line) => line.replace(/^npm (error|ERR!) ?/, '').replace(/\p{Cc}/gu, ''))
    .filter((line) => line.trim() !== '' && !/complete log of this run|_logs|Unknown cli config/.test(line))
    .join('\n')
    .slice(0, problemLimit)
}

/** Returns the problem of packages that are too large, if they are. */
async function findExcess(folder: string): Promise<string | undefined> {
  const entries = await readdir(join(folder, 'node_modules'), { recursive: true, withFileTypes: true }).catch(
    () => [],
  )
  const files = entries.filter((entry) => entry.isFile())
  if (files.length > fileLimit) return `the packages have more than ${fileLimit} files`
  let total = 0
  for (const file of files) {
    // Npm moves files while it works.
    total += await lstat(join(file.parentPath, file.name)).then(
      ({ size }) => size,
      () => 0,
    )
    if (total > byteLimit) return `the packages have more than ${byteLimit} bytes`
  }
  return undefined
}

/** Returns the problem of a package that leads out of the folder. */
async function findLink(folder: string): Promise<string | undefined> {
  const entries = await readdir(join(folder, 'node_modules'), { recursive: true, withFileTypes: true }).catch(
    () => [],
  )
  const link = entries.find((entry) => entry.isSymbolicLink())
  return link && `${relative(folder, join(link.parentPath, link.name))} is a symbolic link`
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}
