import { appendFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { OperatorError } from '../../lib/errors.ts'
import { nameAccount } from './account-name.ts'
import type { Binaries } from './binaries.ts'
import { isProcessAlive } from './lock-file.ts'
import { giveTo, type OsUser } from './os-user.ts'
import { runAs } from './run-as.ts'

/** Superuser; the socket directory excludes other accounts. */
export const embeddedUser = 'postgres'

interface NewCluster {
  readonly binaries: Binaries
  /** PGDATA, which appears when it is complete. */
  readonly directory: string
  readonly user: OsUser | undefined
}

/**
 * Creates the cluster in a sibling directory and moves it to its final path; one that was created meanwhile
 * stays.
 *
 * @throws OperatorError with initdb's own reason
 */
export async function initializeCluster(
  { binaries, directory, user }: NewCluster,
  home: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  removeUnfinished(home)
  const unfinished = join(home, `postgres.${process.pid}`)
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { mode: 0o700 })
  giveTo(user, unfinished)
  using account = nameAccount(`${unfinished}.passwd`)
  const { code, output } = await runAs(
    user,
    binaries.initdb,
    [
      ...['--pgdata', unfinished, '--username', embeddedUser, '--auth', 'trust', '--encoding', 'UTF8'],
      // Texts sort as in a dictionary: ICU's root collation, without the rules of one language.
      ...['--locale-provider', 'icu', '--icu-locale', 'und', '--locale', 'C', '--no-instructions'],
    ],
    { signal, variables: account.env },
  )
  if (code !== 0) {
    rmSync(unfinished, { recursive: true, force: true })
    signal?.throwIfAborted()
    const reason = output.match(/(?:error|FATAL|PANIC): .*/)?.[0] ?? output.trim().split('\n').at(-1)
    throw new OperatorError(
      `cannot create the embedded database in ${home}: ${reason ?? `exit code ${code}`}`,
    )
  }
  appendFileSync(join(unfinished, 'postgresql.conf'), "\ninclude_if_exists = 'basalt.conf'\n")
  try {
    renameSync(unfinished, directory)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    if (!existsSync(join(directory, 'PG_VERSION'))) throw error
  }
}

/**
 * Removes leftovers of killed creations and restores. If an initdb still works on one, the next call removes
 * it.
 */
export function removeUnfinished(directory: string): void {
  for (const name of readdirSync(directory)) {
    const [, pid] = /^(?:postgres|secrets)\.(\d+)(?:\.passwd)?$/.exec(name) ?? []
    if (pid === undefined || isProcessAlive(Number(pid))) continue
    try {
      rmSync(join(directory, name), { recursive: true, force: true })
    } catch {
      // Nothing depends on it.
    }
  }
}
