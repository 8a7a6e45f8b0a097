import { chownSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError } from '../../lib/errors.ts'

/** Account of the operating system. */
export interface OsUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** Accounts that Postgres may run as when Basalt runs as root, in order of preference. */
const preferredNames = ['basalt', 'postgres', 'nobody']

/**
 * Returns the unprivileged account that Postgres must run as, or undefined to run it as the current one.
 * Postgres refuses to run as root, and as an account without a name. Under sudo, the owner of the directory is
 * the best choice.
 */
export function findUnprivilegedUser(directory: string): OsUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readUsers()
  const owner = statSync(directory).uid
  const user =
    users.find(({ uid }) => uid === owner && uid !== 0) ??
    preferredNames.map((name) => users.find((user) => user.name === name)).find((user) => user !== undefined)
  if (user === undefined) {
    throw new OperatorError(
      'the embedded PostgreSQL cannot run as root, and there is no account basalt, postgres or nobody to run it as',
    )
  }
  return user
}

/** Returns true if the account can enter every directory on the path. */
export function canReach(user: OsUser, path: string): boolean {
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    const { mode, uid, gid } = statSync(directory)
    const executable = uid === user.uid ? mode & 0o100 : gid === user.gid ? mode & 0o010 : mode & 0o001
    if (executable === 0) return false
    if (directory === dirname(directory)) return true
  }
}

/** Makes the account the owner; without one the path is ours already. */
export function giveTo(user: OsUser | undefined, path: string): void {
  if (user !== undefined) chownSync(path, user.uid, user.gid)
}

function readUsers(): OsUser[] {
  return readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .flatMap(([name, , uid, gid]) =>
      name === undefined || uid === undefined || gid === undefined
        ? []
        : [{ name, uid: Number(uid), gid: Number(gid) }],
    )
}
