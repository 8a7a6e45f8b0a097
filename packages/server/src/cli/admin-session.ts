import type { Config } from '../configuration.ts'
import { createPasswordHasher } from '../features/identity/passwords/index.ts'
import {
  type AdminDeps,
  createSession,
  removeFirstSignIn,
  signInMethodsOf,
} from '../features/operations/admin/index.ts'
import { createThrottle } from '../features/operations/throttle/index.ts'
import type { Terminal } from './context.ts'
import { withDatabase } from './with-database.ts'

/** Actor of commands in the audit. */
export const commandActor = 'command line'

/**
 * Creates an admin session. Access to the database is the only requirement.
 *
 * @returns an admin token, valid for 12 hours
 */
export async function createAdminSession(terminal: Terminal, config: Config): Promise<string> {
  return (await withAdmin(terminal, config, ({ database }) => createSession(database, commandActor))).token
}

export async function withAdmin<Result>(
  terminal: Terminal,
  config: Config,
  work: (admin: AdminDeps) => Promise<Result>,
): Promise<Result> {
  return await withDatabase(config, 'basalt admin', ({ system }) =>
    work({
      database: system,
      methods: signInMethodsOf(config.admin),
      passwords: createPasswordHasher(),
      throttle: createThrottle(system),
      forgetFirstSignIn: () =>
        removeFirstSignIn(config.server.data_dir, (message) => {
          terminal.stderr.write(`warning: ${message}\n`)
        }),
    }),
  )
}
