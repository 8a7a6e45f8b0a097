import type { Logger } from 'pino'
import type { Config } from '../configuration.ts'
import { type FirstSignIn, signInLink, writeFirstSignIn } from '../features/operations/admin/index.ts'
import { messageOf } from '../lib/errors.ts'
import type { Facts } from '../start-report.ts'
import type { Terminal } from './context.ts'

export interface Announcement {
  readonly terminal: Terminal
  /** Command that runs the server. */
  readonly command: 'basalt start' | 'basalt dev'
  readonly facts: Facts
  readonly firstSignIn: FirstSignIn | undefined
  readonly config: Config
  readonly log: Logger
  /** Log that is only stored. */
  readonly storedLog: Logger
  readonly startupMs: number
}

/** Shows a person, or on one line a log reader, where the server is and what it serves. */
export function announce(announcement: Announcement): void {
  const { terminal, command, firstSignIn, config, log, storedLog } = announcement
  const facts = { command, ...announcement.facts, startupMs: Math.round(announcement.startupMs) }
  if (terminal.stdout.isTTY === true && config.logging.format !== 'json') {
    terminal.stdout.write(`${describe(facts, config).join('\n')}\n`)
    storedLog.info(facts, 'listening')
    if (firstSignIn !== undefined) {
      terminal.stdout.write(`
  Administrator, shown only this once:
${firstSignIn.password === undefined ? '' : `    password   ${firstSignIn.password}\n`}${facts.dashboard === undefined ? '' : `    ${firstSignIn.password === undefined ? '   open' : 'or open'}    ${signInLink(facts.dashboard, firstSignIn.code)}\n`}
`)
    }
    return
  }
  log.info(facts, 'listening')
  if (firstSignIn !== undefined) keepFirstSignIn(firstSignIn, facts, config, log)
}

/** Writes the administrator's first password to a file, for a server without a terminal. */
export function keepFirstSignIn(
  { password, code }: FirstSignIn,
  { dashboard }: Pick<Facts, 'dashboard'>,
  config: Config,
  log: Logger,
): void {
  // The entry is logged at any level: no administrator could sign in without it.
  const always = log.child({}, { level: 'info' })
  const link = dashboard === undefined ? undefined : signInLink(dashboard, code)
  try {
    const path = writeFirstSignIn(config.server.data_dir, password, link)
    always.info({ path }, "the administrator's first password is in a file, which the first sign-in removes")
  } catch (error) {
    always.error(
      { reason: messageOf(error) },
      "failed to keep the administrator's first password in server.data_dir: set admin.password, or make " +
        'another one with `basalt admin reset-password`',
    )
  }
}

function describe(facts: Facts & Pick<Announcement, 'command' | 'startupMs'>, config: Config): string[] {
  return [
    '',
    `  ${facts.command === 'basalt dev' ? facts.command : 'Basalt'} listens on ${facts.url}  (ready in ${facts.startupMs} ms)`,
    '',
    ...(facts.dashboard === undefined ? [] : [`    Dashboard   ${facts.dashboard}`]),
    `    API         ${facts.url}/api/collections/{table}`,
    `    Reference   ${facts.url}/api/docs`,
    `    Health      ${facts.url}/health`,
    `    Database    ${facts.database} in ${facts.location}`,
    ...(facts.replicas ?? []).map((replica) => `    Replica     ${replica}`),
    `    Data        ${facts.dataDirectory}`,
    `    Tables      ${facts.tables === 0 ? 'none yet: create some with `npx basalt sql`' : facts.tables}`,
    ...describeProtection(facts, config),
    '',
  ]
}

/** Maximum number of names in one warning. */
const shownNames = 12

function describeProtection(facts: Facts, config: Config): string[] {
  if (!config.auth.enabled)
    return ['    Warning     auth.enabled is false: everybody who reaches the port owns the data']
  return [
    ...warn('without row-level security, open to every signed-in caller', facts.tablesWithoutRls),
    ...warn('without row-level security, open without a token', facts.publicTablesWithoutRls),
    ...warn('without row-level security, so closed to callers', facts.closedWithoutRls),
    ...warn('security definer without a search_path of its own', facts.definersWithoutSearchPath),
    ...warn('functions that PUBLIC, so every signed-in caller, may call', facts.functionsOfPublic),
  ]
}

function warn(what: string, names: readonly string[]): string[] {
  if (names.length === 0) return []
  const more = names.length > shownNames ? ` and ${names.length - shownNames} more` : ''
  return [`    Warning     ${what}: ${names.slice(0, shownNames).join(', ')}${more}`]
}
