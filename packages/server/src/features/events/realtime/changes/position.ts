/**
 * Position in the log of changes: the events that a stream has received. It means the same on every node. A client that
 * reconnects sends it as `Last-Event-ID`.
 */
export interface Position {
  /**
   * Timeline of the database. On another one, the same transaction numbers may be other transactions. Undefined if it is
   * unknown.
   */
  readonly timeline?: number | undefined
  /** A `pg_snapshot`. Every event of a transaction that it sees has been sent. */
  readonly passed: string
  /** Newer snapshot that is being sent in order of ids, and the last id sent; undefined between two snapshots. */
  readonly within?: { readonly target: string; readonly id: string }
}

const snapshot = /^\d{1,19}:\d{1,19}:(?:\d{1,19}(?:,\d{1,19})*)?$/
const number = /^\d{1,18}$/
const timelineNumber = /^[1-9]\d{0,9}$/
/** Maximum length. No transaction number or id has more digits; many transactions at once add numbers. */
const lengthLimit = 8192

/** Formats the position as the opaque value of `id:`. */
export function formatPosition({ timeline, passed, within }: Position): string {
  const start = timeline === undefined ? passed : `${timeline}/${passed}`
  return within === undefined ? start : `${start}~${within.target}~${within.id}`
}

/** Parses a position. @returns undefined for a text that is not one */
export function parsePosition(text: string): Position | undefined {
  if (text.length > lengthLimit) return undefined
  const [start = '', target, id, ...rest] = text.split('~')
  const [, timelineText, passed = ''] = /^(?:([^/]*)\/)?(.*)$/.exec(start) ?? []
  if (timelineText !== undefined && !timelineNumber.test(timelineText)) return undefined
  if (!isSnapshot(passed) || rest.length > 0) return undefined
  const timeline = timelineText === undefined ? {} : { timeline: Number(timelineText) }
  if (target === undefined) return { ...timeline, passed }
  if (id === undefined || !isSnapshot(target) || !number.test(id)) return undefined
  return { ...timeline, passed, within: { target, id } }
}

/** Returns true if both timelines are known and differ. */
export function isOtherTimeline(one: number | undefined, other: number | undefined): boolean {
  return one !== undefined && other !== undefined && one !== other
}

/** Checks a snapshot as PostgreSQL does: the beginning, the end, and the running transactions between them in order. */
function isSnapshot(text: string): boolean {
  if (!snapshot.test(text)) return false
  const [beginning = 0n, end = 0n, ...running] = text.split(/[:,]/).filter(Boolean).map(BigInt)
  const inOrder = [beginning, ...running]
  return (
    beginning > 0n &&
    beginning <= end &&
    inOrder.every((number, index) => (inOrder[index - 1] ?? 0n) <= number && (index === 0 || number < end))
  )
}

/** Returns the first transaction that had not started. */
export function endOf(passed: string): bigint {
  return BigInt(passed.split(':')[1] ?? '')
}

/** Returns the first transaction that the snapshot may not see. */
export function beginningOf(passed: string): bigint {
  return BigInt(passed.split(':')[0] ?? '')
}

/** Returns true if the snapshot sees everything that the other one sees. */
export function covers(newer: string, older: string): boolean {
  const [, , running = ''] = newer.split(':')
  const alsoRunning = new Set((older.split(':')[2] ?? '').split(','))
  const end = endOf(older)
  const isBeyond = (id: string) => BigInt(id) >= end || alsoRunning.has(id)
  return endOf(newer) >= end && running.split(',').filter(Boolean).every(isBeyond)
}
