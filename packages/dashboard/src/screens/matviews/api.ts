import { get, post, put, remove, segment } from '../../api/request.ts'

export type RefreshMode = 'standard' | 'concurrent'

/** Of `GET /api/admin/matviews`. */
export interface Matview {
  readonly id: string
  readonly schemaName: string
  readonly viewName: string
  readonly refreshMode: RefreshMode
  readonly lastRefreshAt: string | null
  readonly lastRefreshDurationMs: number | null
  readonly lastRefreshStatus: 'success' | 'error' | null
  readonly lastRefreshError: string | null
}

const path = (id: string) => `admin/matviews/${segment(id)}`

export const listMatviews = (signal: AbortSignal) =>
  get<{ items: Matview[] }>('admin/matviews', {}, { signal })

export const registerMatview = (input: {
  readonly schema: string
  readonly viewName: string
  readonly refreshMode: RefreshMode
}) => post<Matview>('admin/matviews', input)

export const setRefreshMode = ({
  id,
  refreshMode,
}: {
  readonly id: string
  readonly refreshMode: RefreshMode
}) => put<Matview>(path(id), { refreshMode })

export const refreshMatview = (id: string) =>
  post<{ registration: Matview; durationMs: number }>(`${path(id)}/refresh`)

export const forgetMatview = (id: string) => remove(path(id))
