import { Command } from 'commander'
import { ApiKeyService } from '../features/identity/api-keys/index.ts'
import { AppService } from '../features/identity/apps/index.ts'
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

interface Services {
  readonly apps: AppService
  readonly keys: ApiKeyService
}

/** `basalt apps`: what programs belong to. */
export function appsCommands(terminal: Terminal): Command {
  const list = createSubcommand(terminal, 'list').description('list apps, the newest first')
  const create = createSubcommand(terminal, 'create')
    .description('make an app')
    .argument('<name>')
    .requiredOption('--owner <id>', 'user who owns it')
    .option('--description <text>', 'what it is', '')
    .option('--limit <number>', 'requests per window over all nodes; 0: not limited', '0')
    .option('--window <seconds>', 'length of the window', '60')
  const remove = createSubcommand(terminal, 'delete')
    .description('delete an app and revoke its keys')
    .argument('<id>')
  return new Command('apps')
    .description('apps, which API keys belong to and are limited by')
    .addCommand(
      answering(terminal, list, async ({ apps }) => {
        const items = await readAll((page) => apps.list({ page, perPage: 100 }))
        const rows = items.map((app) => [
          app.id,
          app.name,
          app.rateLimitRps === 0 ? '' : `${app.rateLimitRps} in ${app.rateLimitWindowSeconds} s`,
          app.createdAt,
        ])
        return { json: items, text: formatTable(['id', 'name', 'limit', 'created'], rows) }
      }),
    )
    .addCommand(
      answering(terminal, create, async ({ apps }, [name], options) => {
        const app = await apps.create(
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
      answering(terminal, remove, async ({ apps }, [id]) => {
        await apps.delete(id, by)
        return { json: { deleted: id }, text: '' }
      }),
    )
}

/** `basalt keys`: how programs present themselves. */
export function keysCommands(terminal: Terminal): Command {
  const list = createSubcommand(terminal, 'list').description('list API keys, the newest first')
  const create = createSubcommand(terminal, 'create')
    .description('make an API key and print it; it is shown this once')
    .argument('<name>')
    .requiredOption('--user <id>', 'user it acts as')
    .option('--scope <scope>', '*, readonly or readwrite', '*')
    .option('--tables <names>', 'collections it may touch, separated by commas; all unless given')
    .option('--actions <names>', 'email:send, sms:send, push:send, separated by commas; none unless given')
    .option('--app <id>', 'app it belongs to')
    .option('--expires-at <timestamp>', 'when it expires, as in RFC 3339; never unless given')
  const rotate = createSubcommand(terminal, 'rotate')
    .description('give an API key another secret and print it')
    .argument('<id>')
    .option('--grace <seconds>', 'how long the secret before stays valid', '3600')
  const revoke = createSubcommand(terminal, 'revoke').description('revoke an API key').argument('<id>')
  return new Command('keys')
    .description('API keys, which programs present as bearer tokens')
    .addCommand(
      answering(terminal, list, async ({ keys }) => {
        const items = await readAll((page) => keys.list({ page, perPage: 100 }))
        const rows = items.map((key) => [
          key.id,
          key.name,
          key.keyPrefix,
          key.scope,
          key.allowedTables.join(', '),
          key.actions.join(', '),
          key.lastUsedAt,
          key.revokedAt === null ? key.expiresAt : `revoked ${key.revokedAt}`,
        ])
        const names = ['id', 'name', 'begins with', 'scope', 'tables', 'actions', 'last used', 'ends']
        return { json: items, text: formatTable(names, rows) }
      }),
    )
    .addCommand(
      answering(terminal, create, async ({ keys }, [name], options) => {
        const made = await keys.create(
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
      answering(terminal, rotate, async ({ keys }, [id], { grace }) => {
        const made = await keys.rotate(id, readInteger('--grace', grace), by)
        return { json: made, text: `${made.key}\n` }
      }),
    )
    .addCommand(
      answering(terminal, revoke, async ({ keys }, [id]) => {
        await keys.revoke(id, by)
        return { json: { revoked: id }, text: '' }
      }),
    )
}

type Options = Readonly<Record<string, string | undefined>>

interface Result {
  readonly json: unknown
  readonly text: string
}

/** A command that works on the configured database, whether or not a server runs on it, and prints what came of it. */
function answering(
  terminal: Terminal,
  command: Command,
  work: (services: Services, operands: readonly [string], options: Options) => Promise<Result>,
): Command {
  command.option('--json', 'print JSON')
  return withConfigFlags(command).action(async () => {
    const { config } = loadCommandConfig(terminal, command)
    const options = command.opts<Options & { readonly json?: boolean }>()
    const purpose = `basalt ${command.parent?.name() ?? ''} ${command.name()}`
    try {
      await withDatabase(config, purpose, async ({ system }) => {
        // Nodes notice by themselves.
        const services = {
          apps: new AppService(system, () => undefined),
          keys: new ApiKeyService(system, () => undefined),
        }
        const { json, text } = await work(services, [command.args[0] ?? ''], options)
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

function readNames(text = ''): string[] {
  return text.split(',').flatMap((name) => name.trim() || [])
}

function readInteger(flag: string, text = ''): number {
  if (!/^\d{1,9}$/.test(text)) {
    throw new OperatorError(`${flag}: expected a non-negative integer`, { exitCode: 2 })
  }
  return Number(text)
}
