/** A line of the log. */
export interface LogLine {
  readonly time: Date
  /** As pino numbers them. */
  readonly level: number
  readonly message: string
  readonly attrs: Readonly<Record<string, unknown>>
  readonly requestId: string | undefined
}

export const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const
export type LevelName = keyof typeof levels

export const levelNames = Object.keys(levels) as LevelName[] // Its own keys, which Object.keys widens.

export function nameLevel(level: number): LevelName {
  return levelNames.findLast((name) => levels[name] <= level) ?? 'trace'
}

/** Characters of a message, and of the attributes as JSON: an error can quote a body of any size. */
const longestMessage = 8192
const longestAttrs = 32_768

/**
 * Reads a line as it was written: after the redaction, so that no secret gets past it. Undefined when it is none.
 *
 * @param time when it was; its own is by the clock of the machine, which may be wrong
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

/** Text in Postgres cannot hold NUL, nor half of a surrogate pair. */
export function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}

/** JSON whose texts Postgres can hold. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'string' ? storable(inner) : inner,
  )
}
