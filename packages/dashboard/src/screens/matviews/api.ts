import { get, type Item, post, put, remove, segment } from '../../api/request.ts'

export type RefreshMode = Matview['refreshMode']
export type Matview = Item<'matviews.list'>

const path = (id: string) => `admin/matviews/${segment(id)}` as const

export const listMatviews = (signal: AbortSignal) => get<'matviews.list'>('admin/matviews', {}, { signal })

export const registerMatview = (input: {
  readonly schema: string
  readonly viewName: string
  readonly refreshMode: RefreshMode
}) => post<'matviews.register'>('admin/matviews', input)

export const setRefreshMode = ({
  id,
  refreshMode,
}: {
  readonly id: string
  readonly refreshMode: RefreshMode
}) => put<'matviews.update'>(path(id), { refreshMode })

export const refreshMatview = (id: string) => post<'matviews.refresh'>(`${path(id)}/refresh`)

export const forgetMatview = (id: string) => remove<'matviews.unregister'>(path(id))
