import { Command } from 'commander'
import { readDatabaseTime } from '../database/database-clock.ts'
import { listAppUsage, readSpan } from '../features/operations/usage/index.ts'
import { loadCommandConfig, print, printJson, type Terminal, withConfigFlags } from './context.ts'
import { formatTable } from './table.ts'
import { readDatabase } from './with-database.ts'

interface UsageOptions {
  readonly period?: string
  readonly from?: string
  readonly to?: string
  readonly json?: boolean
}

const mostApps = 500

export function usageCommand(terminal: Terminal): Command {
  const command = new Command('usage')
    .description('print the usage of apps')
    .option('--period <name>', 'day, week (seven days) or month (thirty)')
    .option('--from <date>', 'first day, YYYY-MM-DD, with --to instead of --period')
    .option('--to <date>', 'last day')
    .option('--json', 'print a JSON array of objects')
  return withConfigFlags(command).action(async ({ json, ...span }: UsageOptions) => {
    const { config } = loadCommandConfig(terminal, command)
    const { rows } = await readDatabase(config, 'basalt usage', async (database) =>
      listAppUsage(
        database,
        readSpan(span, await readDatabaseTime(database)),
        { key: 'api_requests', isDescending: true },
        { limit: mostApps, offset: 0 },
      ),
    )
    if (json === true) {
      printJson(terminal, rows)
      return
    }
    const heads = ['app', 'requests', 'bytes in', 'bytes out', 'stored', 'calls', 'streams', 'job runs']
    const lines = rows.map((row) =>
      [
        row.name,
        row.api_requests,
        row.bytes_in,
        row.bytes_out,
        row.storage_bytes,
        row.function_invocations,
        row.realtime_peak_connections,
        row.job_runs,
      ].map(String),
    )
    print(terminal, formatTable(heads, lines))
  })
}
