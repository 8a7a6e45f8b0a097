import type { LogEntry } from './api.ts'

/** Merges the tail and the list, which contains entries of the tail after it is read again. */
export function merge(newest: readonly LogEntry[], rows: readonly LogEntry[]): readonly LogEntry[] {
  const known = new Set(newest.map(identify))
  return [...newest, ...rows.filter((entry) => !known.has(identify(entry)))]
}

function identify({ time, node, message, requestId }: LogEntry): string {
  return [time, node, requestId, message].join(' ')
}

const summaryLength = 120

/** Formats the attributes of an entry in one line. @param hidden names of those to omit */
export function summarize(attrs: LogEntry['attrs'], hidden: readonly string[] = []): string {
  const text = Object.entries(attrs)
    .filter(([name]) => !hidden.includes(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
  return text.length > summaryLength ? `${text.slice(0, summaryLength)}…` : text
}

/** Adds keys to the entries. Entries have no id, so equal ones get a number. */
export function withKeys(entries: readonly LogEntry[]) {
  const counts = new Map<string, number>()
  return entries.map((entry) => {
    const identity = identify(entry)
    const count = counts.get(identity) ?? 0
    counts.set(identity, count + 1)
    return { entry, key: `${identity} ${count}` }
  })
}
