import { createHash } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OperatorError } from '../../lib/errors.ts'
import { keepSecret } from '../../lib/kept-secret.ts'
import { nameAccount } from './account-name.ts'
import type { Binaries } from './binaries.ts'
import { embeddedUser } from './initdb.ts'
import { giveTo, type OsUser } from './os-user.ts'
import { runAs } from './run-as.ts'
import { messagesOf } from './start-failure.ts'
import { scramVerifier } from './tcp-access.ts'

/** Password of the superuser, in a file that only the account of the server can read. */
export interface SuperuserPassword {
  readonly file: string
  /** Reads the password, and creates it when there is none. */
  read(): string
}

/** Returns the password of a data directory's cluster. */
export function superuserPassword(dataDirectory: string): SuperuserPassword {
  const file = join(dataDirectory, 'secrets', 'postgres_password')
  // A process uses one password, even if the file is removed meanwhile.
  let known: string | undefined
  const read = () => {
    known ??= keepSecret(file, 'the next start sets it')
    return known
  }
  return { file, read }
}

interface StoppedCluster {
  readonly binaries: Pick<Binaries, 'postgres'>
  /** PGDATA. */
  readonly directory: string
  readonly user: OsUser | undefined
}

/**
 * Sets the superuser's password in a cluster that does not run, unless it has it: that of an earlier version has none, and
 * another one if its file was removed. PostgreSQL works without connections then (PostgreSQL, postgres, Single-User Mode),
 * so that at no time a session is accepted without the password.
 *
 * @throws OperatorError with Postgres' own reason; another process may have started it meanwhile
 */
export async function ensurePassword(
  { binaries, directory, user }: StoppedCluster,
  password: string,
): Promise<void> {
  const path = join(directory, 'basalt_password')
  const mark = createHash('sha256').update(password).digest('hex')
  if (readMark(path) === mark) return
  // A utility statement accepts no parameters. The verifier contains no quotes.
  const statement = `alter role ${embeddedUser} password '${scramVerifier(password)}'\n`
  const args = ['--single', '-D', directory, '-c', 'log_min_messages=warning', 'postgres']
  using account = nameAccount(`${directory}.${process.pid}.passwd`)
  const { code, output } = await runAs(user, binaries.postgres, args, {
    input: statement,
    variables: account.env,
  })
  const [reason] = messagesOf(output, 'ERROR|FATAL|PANIC')
  if (code !== 0 || reason !== undefined)
    throw new OperatorError(
      `cannot set the password of the embedded PostgreSQL: ${reason ?? `exit code ${code}`}`,
    )
  // It is written last: after a crash before it, the next start sets the password again.
  writeFileSync(path, mark, { mode: 0o600 })
  giveTo(user, path)
}

function readMark(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** Makes the next start set the password again, after one that the cluster does not accept. */
export function forgetPassword(directory: string): void {
  rmSync(join(directory, 'basalt_password'), { force: true })
}
