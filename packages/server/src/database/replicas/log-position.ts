/** Position in the write-ahead log, in bytes from its start (PostgreSQL, pg_lsn). */
export type LogPosition = bigint

const pattern = /^([\dA-F]{1,8})\/([\dA-F]{1,8})$/i

/** Parses a position such as `16/B374D848`; returns undefined for any other text. */
export function parseLogPosition(text: string): LogPosition | undefined {
  const [, high, low] = pattern.exec(text) ?? []
  if (high === undefined || low === undefined) return undefined
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}

const pageBytes = 8192n
/** Sizes of a page header, the long one at the start of a segment (PostgreSQL, WAL Internals). */
const headerBytes = [24n, 40n]

/**
 * Returns the end of the last record before an insert position. At the end of a page, PostgreSQL reports the position
 * after the header of the next page. A standby only reaches it with the next record.
 */
export function endOfRecords(inserted: LogPosition): LogPosition {
  const offset = inserted % pageBytes
  return headerBytes.includes(offset) ? inserted - offset : inserted
}

export function formatLogPosition(position: LogPosition): string {
  return `${(position >> 32n).toString(16)}/${(position & 0xffff_ffffn).toString(16)}`.toUpperCase()
}

export function laterOf(one: LogPosition, other: LogPosition): LogPosition {
  return one > other ? one : other
}
