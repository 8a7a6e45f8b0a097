import { get, type Item, put, remove, segment } from '../../api/request.ts'

export const severities = ['error', 'warning', 'info'] as const

export type Advice = Item<'advisors.list'>

export const listAdvice = (signal: AbortSignal) => get<'advisors.list'>('admin/advisors', {}, { signal })

export const dismissAdvice = ({
  id,
  ...body
}: {
  readonly id: string
  readonly reason?: string
  readonly until?: string
}) => put<'advisors.dismiss'>(`admin/advisors/${segment(id)}/dismissal`, body)

export const restoreAdvice = (id: string) =>
  remove<'advisors.restore'>(`admin/advisors/${segment(id)}/dismissal`)
