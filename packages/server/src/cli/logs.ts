import { setTimeout as delay } from 'node:timers/promises'
import { Command } from 'commander'
import type { SystemDatabase } from '../database/system-database.ts'
import {
  type LogEntry,
  type LogFilter,
  levelNames,
  listLatestLogs,
  listLogsSince,
  takeSnapshot,
} from '../features/operations/logs/index.ts'
import { readChoice, readLimit, readTimeRange } from '../http/requests/filters.ts'
import { loadCommandConfig, print, printAll, type Terminal, withConfigFlags } from './context.ts'
import { showControls } from './table.ts'
import { mostRows, readDatabase } from './with-database.ts'

interface LogsOptions {
  readonly follow?: boolean
  readonly level?: string
  readonly query?: string
  readonly requestId?: string
  readonly since?: string
  readonly until?: string
  readonly limit?: string
  readonly json?: boolean
}

const pollMs = 500

export function logsCommand(terminal: Terminal): Command {
  const command = new Command('logs')
    .description('print the log of all nodes, the oldest entry first')
    .option('-f, --follow', 'continue with new entries')
    .option('--level <name>', 'minimum level: debug, info, warn, error')
    .option('-q, --query <text>', 'text in the message or the attributes')
    .option('--request-id <id>', 'only entries of one request')
    .option('--since <time>', 'RFC 3339 or YYYY-MM-DD')
    .option('--until <time>', 'RFC 3339, or YYYY-MM-DD, which includes that day')
    .option('-n, --limit <number>', 'number of entries, the newest ones', '100')
    .option('--json', 'print a JSON object per line')
  return withConfigFlags(command).action(async (options: LogsOptions) => {
    const { config } = loadCommandConfig(terminal, command)
    await readDatabase(config, 'basalt logs', async (database) => {
      const format = (rows: readonly LogEntry[]) =>
        rows.map((row) => formatEntry(row, options.json === true)).join('')
      const { level, query: q, requestId } = options
      const filter = {
        level: level === undefined ? undefined : readChoice('level', level, levelNames),
        q,
        requestId,
      }
      const range = readTimeRange({ from: options.since, to: options.until }, ['since', 'until'])
      const limit = readLimit(options.limit, 100, mostRows)
      const snapshot = await takeSnapshot(database)
      async function* latest() {
        for await (const rows of listLatestLogs(database, { ...filter, ...range }, snapshot, limit))
          yield format(rows)
      }
      const isRead = await printAll(terminal, latest())
      const show = (rows: readonly LogEntry[]) => print(terminal, format(rows))
      if (options.follow === true && isRead) await follow(terminal, database, filter, snapshot, show)
    })
  })
}

/** Follows the log until Ctrl-C, or until the reader has closed the output. */
async function follow(
  terminal: Terminal,
  database: SystemDatabase,
  filter: LogFilter,
  snapshot: string,
  show: (rows: readonly LogEntry[]) => void,
): Promise<void> {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) terminal.on(signal, () => stopping.abort())
  terminal.stdout.on('error', () => stopping.abort())
  let position = snapshot
  while (!stopping.signal.aborted) {
    const found = await listLogsSince(database, filter, position)
    position = found.snapshot
    show(found.rows)
    await delay(pollMs, undefined, { signal: stopping.signal }).catch(() => undefined)
  }
}

/** Entry of the database, or of a response. */
type Printed = Omit<LogEntry, 'time' | 'level'> & { readonly time: Date | string; readonly level: string }

/**
 * Formats an entry: `2026-01-02T03:04:05.678Z WARN  web-1/17 failed to look for jobs {"reason":"…"} (request
 * 1f0c…)`
 */
export function formatEntry(entry: Printed, isJson: boolean): string {
  if (isJson) return `${JSON.stringify(entry)}\n`
  const { time, level, message, attrs, node, requestId } = entry
  const parts = [
    new Date(time).toISOString(),
    level.toUpperCase().padEnd(5),
    node,
    message,
    ...(Object.keys(attrs).length === 0 ? [] : [JSON.stringify(attrs)]),
    ...(requestId === null ? [] : [`(request ${requestId})`]),
  ]
  return `${showControls(parts.join(' '))}\n`
}
