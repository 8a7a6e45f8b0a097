import { storable } from '../../../lib/storable-text.ts'

/** Line of the log. */
export interface LogLine {
  readonly time: Date
  /** Level as pino numbers it. */
  readonly level: number
  readonly message: string
  readonly attrs: Readonly<Record<string, unknown>>
  readonly requestId: string | undefined
}

export const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const
export type LevelName = keyof typeof levels

export const levelNames = Object.keys(levels) as LevelName[] // The cast restores the keys' own type, which Object.keys widens.

export function nameLevel(level: number): LevelName {
  return levelNames.findLast((name) => levels[name] <= level) ?? 'trace'
}

/** Maximum length of a message in characters, and of the attributes as JSON. An error can quote a body of any size. */
const longestMessage = 8192
const longestAttrs = 32_768

/**
 * Parses a written line. It has passed the redaction, so it contains no secret. Returns undefined for any
 * other line.
 *
 * @param time of the entry; the line's own time is by the machine clock, which may be wrong
 */
export function parseLine(line: string, time: Date): LogLine | undefined {
  let fields: Record<string, unknown>
  try {
    fields = JSON.parse(line)
  } catch {
    return undefined
  }
  const { level, time: _time, msg, requestId, pid: _pid, hostname: _hostname, ...attrs } = fields
  const json = JSON.stringify(attrs)
  return {
    time,
    level: typeof level === 'number' ? level : (levels[level as LevelName] ?? levels.info),
    message: typeof msg === 'string' ? storable(msg).slice(0, longestMessage) : '',
    attrs: json.length <= longestAttrs ? attrs : { truncated: storable(json.slice(0, longestAttrs)) },
    requestId: typeof requestId === 'string' ? storable(requestId) : undefined,
  }
}

/** Returns JSON whose texts PostgreSQL can store. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'string' ? storable(inner) : inner,
  )
}
