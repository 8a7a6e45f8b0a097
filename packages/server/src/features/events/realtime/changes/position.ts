/**
 * A place in the log of changes: what a stream has been sent. It means the same on every node, and a client that comes
 * back names it as `Last-Event-ID`.
 */
export interface Position {
  /** A `pg_snapshot`: every event of a transaction that it sees has been sent. */
  readonly passed: string
  /** The newer snapshot that is being sent, in order of ids, and how far; undefined between two snapshots. */
  readonly within?: { readonly target: string; readonly id: string }
}

const snapshot = /^\d{1,19}:\d{1,19}:(?:\d{1,19}(?:,\d{1,19})*)?$/
const number = /^\d{1,18}$/
/** No transaction number or id has more digits; more of them come with many transactions at once. */
const lengthLimit = 8192

/** As it stands in `id:`; opaque to clients. */
export function formatPosition({ passed, within }: Position): string {
  return within === undefined ? passed : `${passed}~${within.target}~${within.id}`
}

/** @returns undefined for what was never a position */
export function parsePosition(text: string): Position | undefined {
  if (text.length > lengthLimit) return undefined
  const [passed = '', target, id, ...rest] = text.split('~')
  if (!isSnapshot(passed) || rest.length > 0) return undefined
  if (target === undefined) return { passed }
  if (id === undefined || !isSnapshot(target) || !number.test(id)) return undefined
  return { passed, within: { target, id } }
}

/** As Postgres reads one: the beginning, the end, and what is running between them, in order. */
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

/** The first transaction that had not begun. */
export function endOf(passed: string): bigint {
  return BigInt(passed.split(':')[1] ?? '')
}

/** The first transaction that it may not see. */
export function beginningOf(passed: string): bigint {
  return BigInt(passed.split(':')[0] ?? '')
}

/** Returns whether the snapshot sees everything that the other one sees. */
export function covers(newer: string, older: string): boolean {
  const [, , running = ''] = newer.split(':')
  const alsoRunning = new Set((older.split(':')[2] ?? '').split(','))
  const end = endOf(older)
  const isBeyond = (id: string) => BigInt(id) >= end || alsoRunning.has(id)
  return endOf(newer) >= end && running.split(',').filter(Boolean).every(isBeyond)
}
