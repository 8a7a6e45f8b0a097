import { type Body, get, type Item, post, put, remove, segment } from '../../api/request.ts'

export type Schedule = Item<'schedules.list'>
export type ScheduleInput = Body<'schedules.update'>

const path = (id: string) => `admin/schedules/${segment(id)}` as const

export const listSchedules = (signal: AbortSignal) => get<'schedules.list'>('admin/schedules', {}, { signal })

export const createSchedule = (input: Body<'schedules.create'>) =>
  post<'schedules.create'>('admin/schedules', input)

export const changeSchedule = ({ id, ...input }: ScheduleInput & { readonly id: string }) =>
  put<'schedules.update'>(path(id), input)

export const setScheduleEnabled = ({ id, isEnabled }: { readonly id: string; readonly isEnabled: boolean }) =>
  post<'schedules.enable' | 'schedules.disable'>(`${path(id)}/${isEnabled ? 'enable' : 'disable'}`)

export const deleteSchedule = (id: string) => remove<'schedules.delete'>(path(id))
