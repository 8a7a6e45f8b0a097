import { Command, Option } from 'commander'
import type { Config } from '../configuration.ts'
import { longestTokenSeconds, signAccessToken } from '../features/identity/accounts/index.ts'
import {
  addAdministrator,
  listAdministrators,
  passwordLink,
  recoverAdministrator,
  resetPassword,
  signInLink,
} from '../features/operations/admin/index.ts'
import { type AdministratorRole, administratorRoles } from '../http/access/permissions.ts'
import { httpOrigin } from '../lib/addresses.ts'
import { systemClock } from '../lib/clock.ts'
import { AppError, OperatorError } from '../lib/errors.ts'
import { resolveJwtSecret } from '../secrets.ts'
import { commandActor, createAdminSession, withAdmin } from './admin-session.ts'
import { createSubcommand, loadCommandConfig, print, type Terminal, withConfigFlags } from './context.ts'
import { formatTable } from './table.ts'

export function adminCommands(terminal: Terminal): Command {
  return new Command('admin')
    .description('administrators')
    .addCommand(addCommand(terminal))
    .addCommand(listCommand(terminal))
    .addCommand(recoverCommand(terminal))
    .addCommand(resetPasswordCommand(terminal))
    .addCommand(tokenCommand(terminal))
}

function addCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'add')
    .description('invite an administrator, and print the link that sets the password, or the dashboard')
    .argument('<email>', 'address of the administrator')
    .addOption(
      new Option('--role <role>', 'rights of the administrator')
        .choices(administratorRoles)
        .makeOptionMandatory(),
    )
  return withConfigFlags(command).action(async (email: string, { role }: { role: AdministratorRole }) => {
    const { config } = loadCommandConfig(terminal, command)
    const { invitation } = await withAdmin(terminal, config, (deps) =>
      refuseInWords(addAdministrator(deps, { email, role }, { actor: commandActor })),
    )
    print(terminal, `${linkOf(config, invitation?.code)}\n`)
  })
}

function listCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'list').description('list administrators')
  return withConfigFlags(command).action(async () => {
    const { config } = loadCommandConfig(terminal, command)
    const found = await withAdmin(terminal, config, ({ database }) => listAdministrators(database))
    const rows = found.map(({ email, role, isFirst, isDisabled, hasPassword, hasIdentity }) => [
      email ?? '(no address)',
      role,
      isDisabled ? 'disabled' : hasPassword || hasIdentity ? (isFirst ? 'first' : '') : 'invited',
    ])
    print(terminal, `${formatTable(['administrator', 'role', 'state'], rows)}\n`)
  })
}

function recoverCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'recover')
    .description(
      'make an administrator an enabled owner, and print a link that sets a new password or signs in',
    )
    .argument('[email]', 'address of the administrator; the first one by default')
  return withConfigFlags(command).action(async (email: string | undefined) => {
    const { config } = loadCommandConfig(terminal, command)
    const code = await withAdmin(terminal, config, (deps) =>
      refuseInWords(recoverAdministrator(deps, email, { actor: commandActor })),
    )
    const who = email ?? 'the first administrator'
    terminal.stderr.write(
      `${who} is now an enabled owner without a second factor; the link can be used once\n`,
    )
    print(terminal, `${linkOf(config, code)}\n`)
  })
}

/** Returns the link of a code, or the code alone where no dashboard is served. Without a code, returns the dashboard. */
function linkOf({ admin, server }: Config, code: string | undefined): string {
  const origin = server.public_base_url || httpOrigin(server.host, server.port)
  const dashboard = admin.enabled ? `${origin.replace(/\/$/, '')}${admin.path}` : undefined
  if (code === undefined || dashboard === undefined) return code ?? dashboard ?? ''
  return admin.password_sign_in ? (passwordLink(dashboard, code) ?? code) : signInLink(dashboard, code)
}

/** Turns an error of the API into one of the command. */
async function refuseInWords<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw error instanceof AppError ? new OperatorError(error.message, { cause: error }) : error
  }
}

function resetPasswordCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'reset-password').description(
    "replace the first administrator's password with a new one and end their sessions",
  )
  return withConfigFlags(command).action(async () => {
    const { config, sources } = loadCommandConfig(terminal, command)
    if (!config.admin.password_sign_in) {
      throw new OperatorError('admin.password_sign_in is off: run basalt admin recover')
    }
    if (config.admin.password !== '') {
      throw new OperatorError(`admin.password is set (${sources.get('admin.password')}): change it there`)
    }
    const password = await withAdmin(terminal, config, (admin) => resetPassword(admin, commandActor))
    if (password === undefined) {
      throw new OperatorError('the first administrator was removed: run basalt admin recover EMAIL')
    }
    print(terminal, `${password}\n`)
  })
}

interface TokenOptions {
  readonly user?: string
  readonly email: string
  readonly emailVerified: boolean
  readonly aal: string
  readonly seconds: string
}

function tokenCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'token')
    .description('print an admin token, valid for 12 hours')
    .option('--user <id>', 'print an access token of this user instead, for trying policies')
    .option('--email <address>', 'email of the user', '')
    .option('--email-verified', 'mark the email as verified', false)
    .option('--aal <level>', 'assurance level of the token: aal1 or aal2', 'aal1')
    .option('--seconds <number>', 'lifetime of the token, at most a day', '900')
  return withConfigFlags(command).action(async (options: TokenOptions) => {
    const { config } = loadCommandConfig(terminal, command)
    requireUserForItsOptions(command, options)
    const token =
      options.user === undefined
        ? await createAdminSession(terminal, config)
        : signUserToken(config, options.user, options)
    print(terminal, `${token}\n`)
  })
}

/**
 * Rejects user options without a user. An admin token has none of them, and ignoring them would promise a
 * shorter lifetime than it has.
 */
function requireUserForItsOptions(command: Command, { user }: TokenOptions): void {
  if (user !== undefined) return
  const given = ['email', 'emailVerified', 'aal', 'seconds'].find(
    (name) => command.getOptionValueSource(name) === 'cli',
  )
  if (given !== undefined)
    throw new OperatorError(`--${given.replace('V', '-v')} needs --user`, { exitCode: 2 })
}

function signUserToken(
  config: Config,
  user: string,
  { email, emailVerified, aal, seconds }: TokenOptions,
): string {
  if (!uuid.test(user)) throw new OperatorError('--user: expected a uuid in lower case', { exitCode: 2 })
  if (aal !== 'aal1' && aal !== 'aal2')
    throw new OperatorError('--aal: expected aal1 or aal2', { exitCode: 2 })
  if (!/^[1-9]\d{0,8}$/.test(seconds))
    throw new OperatorError('--seconds: expected a positive integer', { exitCode: 2 })
  // A token without a session is revoked with its user, and the revocation is stored for this time.
  if (Number(seconds) > longestTokenSeconds)
    throw new OperatorError(`--seconds: expected at most ${longestTokenSeconds}`, { exitCode: 2 })
  const claims = {
    sub: user,
    email,
    email_verified: emailVerified,
    aal,
    amr: [],
    is_anonymous: false,
  } as const
  return signAccessToken(claims, Number(seconds), { secret: resolveJwtSecret(config), clock: systemClock })
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
