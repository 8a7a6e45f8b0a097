import type { Action, As, ExplainRequest } from './api.ts'

/** Query of the screen, as in the URL: `?as=user:ada@example.com&table=posts&id=4`. */
export interface AccessQuery {
  readonly as: As | undefined
  readonly table: string
  readonly action: Action
  readonly ids: readonly string[]
  readonly filter: string
  /** JSON text. */
  readonly values: string
  /** Reason, which the audit log stores. */
  readonly reason: string
}

const actions: readonly Action[] = ['select', 'insert', 'update', 'delete']

export function parseAccessQuery(search: URLSearchParams): AccessQuery {
  const aal = search.get('aal') === 'aal2' ? ({ aal: 'aal2' } as const) : {}
  const as = readCaller(search.get('as') ?? '')
  return {
    as: as && (as.kind === 'user' || as.kind === 'claims') ? { ...as, ...aal } : as,
    table: search.get('table') ?? '',
    action: actions.find((action) => action === search.get('action')) ?? 'select',
    ids: search.getAll('id'),
    filter: search.get('filter') ?? '',
    values: search.get('values') ?? '',
    reason: search.get('reason') ?? '',
  }
}

/** Formats the URL parameters. Empty values are omitted. */
export function formatAccessQuery({
  as,
  table,
  action,
  ids,
  filter,
  values,
  reason,
}: AccessQuery): URLSearchParams {
  const search = new URLSearchParams()
  if (as !== undefined) search.set('as', writeCaller(as))
  if (as?.aal === 'aal2') search.set('aal', 'aal2')
  if (table !== '') search.set('table', table)
  if (action !== 'select') search.set('action', action)
  for (const id of ids) search.append('id', id)
  if (filter !== '') search.set('filter', filter)
  if (values !== '' && (action === 'insert' || action === 'update')) search.set('values', values)
  if (reason !== '') search.set('reason', reason)
  return search
}

/** Returns the request, undefined while a field is missing, or a text that describes an error. */
export function toRequest(query: AccessQuery): ExplainRequest | string | undefined {
  const { as, table, action, ids, filter, values, reason } = query
  if (as === undefined || table === '') return undefined
  const rows = {
    ...(ids.length === 0 ? {} : { ids }),
    ...(filter === '' || ids.length > 0 ? {} : { filter }),
    ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
  }
  if (action !== 'insert' && action !== 'update') return { as, table, action, ...rows }
  try {
    return { as, table, action, ...rows, values: JSON.parse(values === '' ? '{}' : values) }
  } catch {
    return 'The values are not valid JSON.'
  }
}

/** Parses `user:ID or email`, `key:ID`, `client:ID` with an optional ` user`, `anonymous`, or `claims:user email`. */
function readCaller(text: string): As | undefined {
  if (text === 'anonymous') return { kind: 'anonymous' }
  const colon = text.indexOf(':')
  const [kind, rest] = [text.slice(0, colon), text.slice(colon + 1)]
  if (rest === '') return undefined
  const [first = '', second] = rest.split(' ')
  if (kind === 'user') return { kind, ...named(rest) }
  if (kind === 'key') return { kind, id: rest }
  if (kind === 'client') return { kind, clientId: first, ...(second === undefined ? {} : named(second)) }
  if (kind === 'claims')
    return { kind, userId: first, ...(second === undefined ? {} : { email: second, emailVerified: true }) }
  return undefined
}

function writeCaller({ kind, id, email, clientId, userId }: As): string {
  const parts =
    kind === 'client' ? [clientId, id ?? email] : kind === 'claims' ? [userId, email] : [id ?? email]
  if (kind === 'anonymous') return kind
  return `${kind}:${parts.filter((part) => part !== undefined && part !== '').join(' ')}`
}

const named = (text: string) => (text.includes('@') ? { email: text } : { id: text })
