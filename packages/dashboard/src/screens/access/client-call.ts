import type { ExplainRequest } from './api.ts'

/** Returns the `@basaltdb/client` code of the caller's request. Pure. */
export function clientCall({ table, action, ids = [], filter, values }: ExplainRequest): string {
  const from = `client.from(${JSON.stringify(table)})`
  const [id] = ids
  const key = JSON.stringify(id ?? '…')
  const body = JSON.stringify(values ?? {})
  if (action === 'insert') return `await ${from}.create(${body})`
  if (action === 'update') return `await ${from}.update(${key}, ${body})`
  if (action === 'delete') return `await ${from}.delete(${key})`
  if (id !== undefined) return `await ${from}.one(${key})`
  return `await ${from}.list(${filter === undefined ? '' : `{ filter: ${JSON.stringify(filter)} }`})`
}
