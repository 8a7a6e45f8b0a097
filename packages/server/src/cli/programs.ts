import { Command } from 'commander'
import type { SystemDatabase } from '../database/system-database.ts'
import { createApiKey, listApiKeys, revokeApiKey, rotateApiKey } from '../features/identity/api-keys/index.ts'
import { createApp, deleteApp, listApps } from '../features/identity/apps/index.ts'
import { AppError, OperatorError } from '../lib/errors.ts'
import { commandActor } from './admin-session.ts'
import {
  createSubcommand,
  loadCommandConfig,
  print,
  printJson,
  type Terminal,
  withConfigFlags,
} from './context.ts'
import { formatTable } from './table.ts'
import { withDatabase } from './with-database.ts'

const by = { actor: commandActor } as const

/** Dependencies of changes of apps and keys. Nodes notice changes by themselves. */
interface Deps {
  readonly database: SystemDatabase
  readonly onChange: () => void
}

/** Creates `basalt apps`, which manages the apps of programs. */
export function appsCommands(terminal: Terminal): Command {
  const list = createSubcommand(terminal, 'list').description('list apps, the newest first')
  const create = createSubcommand(terminal, 'create')
    .description('create an app')
    .argument('<name>')
    .requiredOption('--owner <id>', 'user who owns it')
    .option('--description <text>', 'its purpose', '')
    .option('--limit <number>', 'requests per window over all nodes; 0 for no limit', '0')
    .option('--window <seconds>', 'length of the window', '60')
  const remove = createSubcommand(terminal, 'delete')
    .description('delete an app and revoke its keys')
    .argument('<id>')
  return new Command('apps')
    .description('manage apps, which group and limit API keys')
    .addCommand(
      printResult(terminal, list, async ({ database }) => {
        const items = await readAll((page) => listApps(database, { page, perPage: 100 }))
        const rows = items.map((app) => [
          app.id,
          app.name,
          app.rateLimitRps === 0 ? '' : `${app.rateLimitRps} in ${app.rateLimitWindowSeconds} s`,
          textOf(app.createdAt),
        ])
        return { json: items, text: formatTable(['id', 'name', 'limit', 'created'], rows) }
      }),
    )
    .addCommand(
      printResult(terminal, create, async (deps, [name], options) => {
        const app = await createApp(
          deps,
          {
            name,
            description: options.description ?? '',
            ownerUserId: options.owner ?? '',
            rateLimitRps: readInteger('--limit', options.limit),
            rateLimitWindowSeconds: readInteger('--window', options.window),
          },
          by,
        )
        return { json: app, text: `${app.id}\n` }
      }),
    )
    .addCommand(
      printResult(terminal, remove, async (deps, [id]) => {
        await deleteApp(deps, id, by)
        return { json: { deleted: id }, text: '' }
      }),
    )
}

/** Creates `basalt keys`, which manages the API keys of programs. */
export function keysCommands(terminal: Terminal): Command {
  const list = createSubcommand(terminal, 'list').description('list API keys, the newest first')
  const create = createSubcommand(terminal, 'create')
    .description('create an API key and print it; it is shown only this once')
    .argument('<name>')
    .requiredOption('--user <id>', 'user that it acts as')
    .option('--scope <scope>', '*, readonly or readwrite', '*')
    .option('--tables <names>', 'collections that it may access, separated by commas; all by default')
    .option(
      '--actions <names>',
      'email:send, sms:send, push:send, function:<name>, separated by commas; none by default',
    )
    .option('--app <id>', 'app that it belongs to')
    .option('--expires-at <timestamp>', 'expiry, as in RFC 3339; never by default')
  const rotate = createSubcommand(terminal, 'rotate')
    .description('give an API key a new secret and print it')
    .argument('<id>')
    .option('--grace <seconds>', 'validity of the previous secret', '3600')
  const revoke = createSubcommand(terminal, 'revoke').description('revoke an API key').argument('<id>')
  return new Command('keys')
    .description('manage API keys, which programs send as bearer tokens')
    .addCommand(
      printResult(terminal, list, async ({ database }) => {
        const items = await readAll((page) => listApiKeys(database, { page, perPage: 100 }))
        const rows = items.map((key) => [
          key.id,
          key.name,
          key.keyPrefix,
          key.scope,
          key.allowedTables.join(', '),
          key.actions.join(', '),
          textOf(key.lastUsedAt),
          key.revokedAt === null ? textOf(key.expiresAt) : `revoked ${textOf(key.revokedAt)}`,
        ])
        const names = ['id', 'name', 'begins with', 'scope', 'tables', 'actions', 'last used', 'ends']
        return { json: items, text: formatTable(names, rows) }
      }),
    )
    .addCommand(
      printResult(terminal, create, async (deps, [name], options) => {
        const made = await createApiKey(
          deps,
          {
            name,
            userId: options.user ?? '',
            scope: options.scope ?? '*',
            allowedTables: readNames(options.tables),
            actions: readNames(options.actions),
            appId: options.app ?? null,
            expiresAt: options.expiresAt ?? null,
          },
          by,
        )
        return { json: made, text: `${made.key}\n` }
      }),
    )
    .addCommand(
      printResult(terminal, rotate, async (deps, [id], { grace }) => {
        const made = await rotateApiKey(deps, id, readInteger('--grace', grace), by)
        return { json: made, text: `${made.key}\n` }
      }),
    )
    .addCommand(
      printResult(terminal, revoke, async (deps, [id]) => {
        await revokeApiKey(deps, id, by)
        return { json: { revoked: id }, text: '' }
      }),
    )
}

type Options = Readonly<Record<string, string | undefined>>

interface Result {
  readonly json: unknown
  readonly text: string
}

/** Makes a command work on the configured database, with or without a running server, and print the result. */
function printResult(
  terminal: Terminal,
  command: Command,
  work: (deps: Deps, operands: readonly [string], options: Options) => Promise<Result>,
): Command {
  command.option('--json', 'print JSON')
  return withConfigFlags(command).action(async () => {
    const { config } = loadCommandConfig(terminal, command)
    const options = command.opts<Options & { readonly json?: boolean }>()
    const purpose = `basalt ${command.parent?.name() ?? ''} ${command.name()}`
    try {
      await withDatabase(config, purpose, async ({ system }) => {
        const deps = { database: system, onChange: () => undefined }
        const { json, text } = await work(deps, [command.args[0] ?? ''], options)
        if (options.json === true) printJson(terminal, json)
        else print(terminal, text)
      })
    } catch (error) {
      throw error instanceof AppError ? new OperatorError(error.message) : error
    }
  })
}

async function readAll<Item>(
  read: (page: number) => Promise<{ readonly items: readonly Item[]; readonly totalPages: number }>,
): Promise<readonly Item[]> {
  const items: Item[] = []
  for (let page = 1; ; page += 1) {
    const answer = await read(page)
    items.push(...answer.items)
    if (page >= answer.totalPages) return items
  }
}

/** Formats a point in time as in RFC 3339. */
function textOf(at: Date | string | null): string | null {
  return at instanceof Date ? at.toISOString() : at
}

function readNames(text = ''): string[] {
  return text.split(',').flatMap((name) => name.trim() || [])
}

function readInteger(flag: string, text = ''): number {
  if (!/^\d{1,9}$/.test(text)) {
    throw new OperatorError(`${flag}: expected a non-negative integer`, { exitCode: 2 })
  }
  return Number(text)
}
