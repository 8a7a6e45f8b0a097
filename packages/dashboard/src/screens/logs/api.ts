import { type ApiResponse, get } from '../../api/request.ts'
import { type EventsOptions, readEvents } from '../../api/stream.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

export type LogEntry = ApiResponse<'logs.list'>['entries'][number]

export interface LogFilter {
  readonly level: string | undefined
  readonly q: string | undefined
  readonly requestId: string | undefined
}

interface LogRange {
  readonly since?: string | undefined
  readonly until?: string | undefined
}

export const countLogs = (filter: LogFilter & LogRange, signal: AbortSignal) =>
  get<'logs.histogram'>('admin/logs/histogram', { ...filter }, { signal })

/** Reads `GET /api/admin/logs`. */
export async function listLogs(
  filter: LogFilter & LogRange,
  cursor: string | undefined,
  signal: AbortSignal,
) {
  const { entries, nextCursor, searchedTo } = await get<'logs.list'>(
    'admin/logs',
    { ...filter, cursor },
    { signal },
  )
  return { items: entries, next: nextCursor, searchedTo }
}

/** Yields log entries of all nodes as they are written, with the id to resume from. */
export async function* followLogs(filter: LogFilter, options: Omit<EventsOptions, 'query'>) {
  const query = { ...filter }
  for await (const { name, data, id } of readEvents('admin/logs/tail', { ...options, query })) {
    // The server sends its documented entry.
    if (name === 'log') yield { entry: JSON.parse(data) as LogEntry, id }
  }
}
