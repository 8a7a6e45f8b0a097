/**
 * Position in the log of changes: the events that a stream has received. It means the same on every node. A client that
 * reconnects sends it as `Last-Event-ID`.
 */
export interface Position {
  /** A `pg_snapshot`. Every event of a transaction that it sees has been sent. */
  readonly passed: string
  /** Newer snapshot that is being sent in order of ids, and the last id sent; undefined between two snapshots. */
  readonly within?: { readonly target: string; readonly id: string }
}

const snapshot = /^\d{1,19}:\d{1,19}:(?:\d{1,19}(?:,\d{1,19})*)?$/
const number = /^\d{1,18}$/
/** Maximum length. No transaction number or id has more digits; many transactions at once add numbers. */
const lengthLimit = 8192

/** Formats the position as the opaque value of `id:`. */
export function formatPosition({ passed, within }: Position): string {
  return within === undefined ? passed : `${passed}~${within.target}~${within.id}`
}

/** Parses a position. @returns undefined for a text that is not one */
export function parsePosition(text: string): Position | undefined {
  if (text.length > lengthLimit) return undefined
  const [passed = '', target, id, ...rest] = text.split('~')
  if (!isSnapshot(passed) || rest.length > 0) return undefined
  if (target === undefined) return { passed }
  if (id === undefined || !isSnapshot(target) || !number.test(id)) return undefined
  return { passed, within: { target, id } }
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
