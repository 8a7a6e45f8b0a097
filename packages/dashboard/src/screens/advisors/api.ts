import { get, put, remove, segment } from '../../api/request.ts'

export const severities = ['error', 'warning', 'info'] as const

/** Of `GET /api/admin/advisors`. */
export interface Advice {
  readonly id: string
  readonly rule: string
  readonly group: string
  readonly severity: (typeof severities)[number]
  readonly title: string
  readonly object: string
  readonly detail: string | null
  readonly explanation: string
  readonly statement: string | null
  readonly command: string | null
  readonly docs: string
  readonly dismissal: {
    readonly reason: string | null
    readonly by: string
    readonly at: string
    readonly until: string | null
  } | null
}

export interface AdviceList {
  readonly items: readonly Advice[]
  readonly count: number
  readonly counts: Readonly<Record<Advice['severity'] | 'dismissed', number>>
}

export const listAdvice = (signal: AbortSignal) => get<AdviceList>('admin/advisors', {}, { signal })

export const dismissAdvice = ({
  id,
  ...body
}: {
  readonly id: string
  readonly reason?: string
  readonly until?: string
}) => put<Advice>(`admin/advisors/${segment(id)}/dismissal`, body)

export const restoreAdvice = (id: string) => remove(`admin/advisors/${segment(id)}/dismissal`)
