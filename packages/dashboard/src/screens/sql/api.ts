import { client } from '../../api/client.ts'
import type { Page } from '../../api/queries.ts'
import { type ApiResponse, get, type Item, type Path, post, put, remove, segment } from '../../api/request.ts'

/** Events of `POST /api/admin/sql` with `Accept: application/x-ndjson`, one per line. */
export type RunEvent =
  | { readonly type: 'start'; readonly id: string; readonly role: string; readonly statements: number }
  | ({ readonly type: 'result' } & StatementResult)
  | ({ readonly type: 'notice' } & RunNotice)
  | ({ readonly type: 'error' } & RunFailure)
  | { readonly type: 'end'; readonly outcome: 'committed' | 'rolled back'; readonly durationMs: number }

export interface ResultColumn {
  readonly name: string
  readonly type: string
}

export interface StatementResult {
  readonly statement: number
  readonly line: number
  readonly command: string | null
  readonly columns: readonly ResultColumn[]
  readonly rows: readonly (readonly (string | null)[])[]
  readonly rowCount: number
  readonly hasMore: boolean
  /** Row, column and full length of each value that was cut. */
  readonly cut: readonly (readonly [number, number, number])[]
  readonly durationMs: number
}

export interface RunNotice {
  readonly statement: number
  readonly message: string
  readonly severity?: string
  readonly detail?: string
  readonly hint?: string
}

export interface RunFailure {
  readonly code: number
  readonly message: string
  readonly error: string
  readonly data?: {
    readonly sqlState?: string
    readonly statement?: number
    readonly offset?: number
    readonly line?: number
    readonly column?: number
    readonly detail?: string
    readonly hint?: string
    readonly where?: string
  }
}

export interface RunAs {
  readonly kind: 'administrator' | 'user' | 'anonymous'
  readonly userId?: string
}

export interface RunBody {
  readonly query: string
  readonly id?: string
  readonly mode: 'read' | 'write'
  readonly transaction?: 'all' | 'each'
  readonly runAs?: RunAs
  readonly parameters?: readonly (string | null)[]
  readonly maxRows?: number
  readonly timeoutSeconds?: number
}

/** Runs SQL and yields its events. @throws BasaltError if nothing ran. A failed statement is an event. */
export async function* runSql(body: RunBody, signal: AbortSignal): AsyncGenerator<RunEvent> {
  const headers = { accept: 'application/x-ndjson' }
  const timeoutMs = ((body.timeoutSeconds ?? 30) + 15) * 1000
  const detail = { body, headers, signal, timeoutMs, isRepeatable: false }
  const response = await client.transport.exchange('POST', 'admin/sql', detail, (answer) => answer)
  if (response.body === null) return
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    let rest = ''
    for (;;) {
      const { done, value = '' } = await reader.read()
      const lines = (rest + value).split('\n')
      rest = lines.pop() ?? ''
      // Each line is an event as the server documents it.
      for (const line of lines) yield JSON.parse(line) as RunEvent
      if (done) return
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

export const cancelRun = (id: string) => post<'sql.cancel'>(`admin/sql/runs/${segment(id)}/cancel`)

export type PlanResponse = ApiResponse<'sql.explain'>

export const explainSql = (body: RunBody & { readonly analyze: boolean }) =>
  post<'sql.explain'>('admin/sql/explain', body, { timeoutMs: ((body.timeoutSeconds ?? 30) + 15) * 1000 })

export type Run = Item<'sql.listRuns'>

const listOf =
  <Name extends 'sql.listRuns' | 'sql.listSaved'>(path: Path<Name>) =>
  async (search: string, cursor: string | undefined, signal: AbortSignal): Promise<Page<Item<Name>>> => {
    const query = { q: search === '' ? undefined : search, cursor, limit: 50 }
    const { items, nextCursor } = await get<'sql.listRuns' | 'sql.listSaved'>(path, query, { signal })
    return { items: items as readonly Item<Name>[], next: nextCursor }
  }

export const listRuns = listOf<'sql.listRuns'>('admin/sql/runs')
export const readRun = (id: string) => get<'sql.getRun'>(`admin/sql/runs/${segment(id)}`)

export type SavedQuery = ApiResponse<'sql.getSaved'>
export type ListedQuery = Item<'sql.listSaved'>

export const listSaved = listOf<'sql.listSaved'>('admin/sql/saved')
export const readSaved = (id: string) => get<'sql.getSaved'>(`admin/sql/saved/${segment(id)}`)
export const saveQuery = (body: { name: string; query: string }) => post<'sql.save'>('admin/sql/saved', body)
export const changeQuery = (id: string, body: { name?: string; query?: string; version: number }) =>
  put<'sql.changeSaved'>(`admin/sql/saved/${segment(id)}`, body)
export const forgetQuery = (id: string) => remove<'sql.forgetSaved'>(`admin/sql/saved/${segment(id)}`)

export type StoredTab = Item<'sql.listTabs'>

export const listTabs = (signal: AbortSignal) => get<'sql.listTabs'>('admin/sql/tabs', {}, { signal })
export const putTab = (id: string, text: string) =>
  put<'sql.putTab'>(`admin/sql/tabs/${segment(id)}`, { text })
export const deleteTab = (id: string) => remove<'sql.deleteTab'>(`admin/sql/tabs/${segment(id)}`)

export type SchemaNames = ApiResponse<'sql.nameSchema'>

/** Maximum number of schemas whose names are loaded. For other schemas the editor only completes their own names. */
const completedSchemas = 20

export async function readNames(signal: AbortSignal): Promise<SchemaNames[]> {
  const { items } = await get<'sql.listSchemas'>('admin/sql/schemas', {}, { signal })
  return await Promise.all(
    items
      .slice(0, completedSchemas)
      .map((name) => get<'sql.nameSchema'>(`admin/sql/schemas/${segment(name)}`, {}, { signal })),
  )
}
