import { get, post, put, remove, segment } from '../../api/request.ts'

/** Of `GET /api/admin/schedules`. */
export interface Schedule {
  readonly id: string
  readonly name: string
  readonly jobType: string
  readonly payload: unknown
  readonly cronExpr: string
  readonly timezone: string
  readonly enabled: boolean
  readonly maxAttempts: number
  readonly nextRunAt: string | null
  readonly lastRunAt?: string
  readonly createdAt: string
  readonly updatedAt: string
}

export type ScheduleInput = Partial<
  Pick<Schedule, 'name' | 'jobType' | 'payload' | 'cronExpr' | 'timezone' | 'enabled'>
>

const path = (id: string) => `admin/schedules/${segment(id)}`

export const listSchedules = (signal: AbortSignal) =>
  get<{ items: Schedule[] }>('admin/schedules', {}, { signal })

export const createSchedule = (input: ScheduleInput) => post<Schedule>('admin/schedules', input)

export const changeSchedule = ({ id, ...input }: ScheduleInput & { readonly id: string }) =>
  put<Schedule>(path(id), input)

export const setScheduleEnabled = ({ id, isEnabled }: { readonly id: string; readonly isEnabled: boolean }) =>
  post<Schedule>(`${path(id)}/${isEnabled ? 'enable' : 'disable'}`)

export const deleteSchedule = (id: string) => remove(path(id))
