import { Command } from 'commander'
import { listAudit, readAuditFilter, showAudit } from '../features/operations/audit/index.ts'
import { readLimit } from '../http/filters.ts'
import { loadCommandConfig, print, printJson, type Terminal, withConfigFlags } from './context.ts'
import { formatTable } from './table.ts'
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

export function auditCommand(terminal: Terminal): Command {
  const command = new Command('audit')
    .description('print what administrators did and what changed in audited tables, the newest first')
    .option('--table <name>', 'changes of this collection')
    .option('--record <key>', 'changes of this record')
    .option('--user <id>', 'by this user')
    .option('--key <id>', 'by this API key')
    .option('--operation <name>', 'INSERT, UPDATE or DELETE')
    .option('--actor <name>', 'admin, user, open, sql or command line')
    .option('--action <name>', 'such as webhooks.create')
    .option('--request-id <id>', 'of one request')
    .option('--from <time>', 'RFC 3339 or YYYY-MM-DD')
    .option('--to <time>', 'RFC 3339 or YYYY-MM-DD, which is included')
    .option('-n, --limit <number>', 'at most so many', '100')
    .option('--json', 'print a JSON array of objects')
  return withConfigFlags(command).action(async (options: AuditOptions) => {
    const { config } = loadCommandConfig(terminal, command)
    const { record, user, key, requestId, limit, json, ...named } = options
    const rows = await readDatabase(config, 'basalt audit', (database) => {
      const filter = readAuditFilter({
        ...named,
        record_id: record,
        user_id: user,
        api_key_id: key,
        request_id: requestId,
      })
      return listAudit(database, filter, { limit: readLimit(limit, 100, mostRows), offset: 0 })
    })
    const items = rows.map(showAudit)
    if (json === true) {
      printJson(terminal, items)
      return
    }
    const heads = ['time', 'actor', 'action', 'on', 'user', 'request']
    const lines = items.map((item) => [
      item.timestamp,
      item.actor,
      item.action,
      item.table_name === null ? item.target : `${item.table_name} ${item.record_id ?? ''}`.trim(),
      item.user_id,
      item.request_id,
    ])
    print(terminal, formatTable(heads, lines))
  })
}
