import { Command } from 'commander'
import type { SystemDatabase } from '../database/system-database.ts'
import {
  type AuditEntry,
  type AuditFilter,
  auditedOperations,
  listAudit,
} from '../features/operations/audit/index.ts'
import { readChoice, readLimit, readTimeRange, readUuid } from '../http/requests/filters.ts'
import { loadCommandConfig, printAll, type Terminal, withConfigFlags } from './context.ts'
import { layOutTable } from './table.ts'
import { mostRows, readDatabase } from './with-database.ts'

interface AuditOptions {
  readonly table?: string
  readonly record?: string
  readonly user?: string
  readonly key?: string
  readonly operation?: string
  readonly actor?: string
  readonly action?: string
  readonly requestId?: string
  readonly from?: string
  readonly to?: string
  readonly limit?: string
  readonly json?: boolean
}

const heads = ['time', 'actor', 'action', 'on', 'user', 'request']
/** Number of rows that are read at once. Each may contain a record before and after a change. */
const pageSize = 100

type Page = readonly AuditEntry[]

export function auditCommand(terminal: Terminal): Command {
  const command = new Command('audit')
    .description('print actions of administrators and changes of audited tables, the newest first')
    .option('--table <name>', 'only changes of this collection')
    .option('--record <key>', 'only changes of this record')
    .option('--user <id>', 'only actions of this user')
    .option('--key <id>', 'only actions of this API key')
    .option('--operation <name>', 'only INSERT, UPDATE or DELETE')
    .option('--actor <name>', 'only admin, user, open, sql or command line')
    .option('--action <name>', 'only this action, such as webhooks.create')
    .option('--request-id <id>', 'only actions of one request')
    .option('--from <time>', 'RFC 3339 or YYYY-MM-DD')
    .option('--to <time>', 'RFC 3339, or YYYY-MM-DD, which includes that day')
    .option('-n, --limit <number>', 'maximum number of entries', '100')
    .option('--json', 'print a JSON array of objects')
  return withConfigFlags(command).action(async (options: AuditOptions) => {
    const { config } = loadCommandConfig(terminal, command)
    const { record, user, key, operation, requestId, from, to, limit, json, ...named } = options
    await readDatabase(config, 'basalt audit', async (database) => {
      const filter = {
        ...named,
        ...readTimeRange({ from, to }),
        record_id: record,
        user_id: user === undefined ? undefined : readUuid('user_id filter', user),
        api_key_id: key === undefined ? undefined : readUuid('api_key_id filter', key),
        operation:
          operation === undefined ? undefined : readChoice('operation filter', operation, auditedOperations),
        request_id: requestId,
      }
      const pages = listPages(database, filter, readLimit(limit, 100, mostRows))
      await printAll(terminal, json === true ? formatJson(pages) : formatLines(pages))
    })
  })
}

async function* listPages(
  database: SystemDatabase,
  filter: AuditFilter,
  limit: number,
): AsyncGenerator<Page> {
  let after: string | undefined
  for (let left = limit; left > 0; left -= pageSize) {
    const rows = await listAudit(database, filter, { limit: Math.min(left, pageSize), after })
    yield rows
    if (rows.length < pageSize) return
    after = rows.at(-1)?.id
  }
}

/** Formats an array as `printJson` does. */
async function* formatJson(pages: AsyncIterable<Page>): AsyncGenerator<string> {
  let isFirst = true
  for await (const items of pages) {
    for (const item of items) {
      yield `${isFirst ? '[' : ','}\n  ${JSON.stringify(item, undefined, 2).replaceAll('\n', '\n  ')}`
      isFirst = false
    }
  }
  yield isFirst ? '[]\n' : '\n]\n'
}

async function* formatLines(pages: AsyncIterable<Page>): AsyncGenerator<string> {
  let layout: ReturnType<typeof layOutTable> | undefined
  for await (const items of pages) {
    const lines = items.map((item) => [
      new Date(item.timestamp).toISOString(),
      item.actor,
      item.action,
      item.table_name === null ? item.target : `${item.table_name} ${item.record_id ?? ''}`.trim(),
      item.user_id,
      item.request_id,
    ])
    if (layout === undefined) {
      layout = layOutTable(heads, lines)
      yield layout.head
    }
    yield layout.format(lines)
  }
}
