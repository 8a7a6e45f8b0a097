import { get, type Item, patch, post, remove, segment } from '../../api/request.ts'

export type Administrator = Item<'administrators.list'>
export type Role = Administrator['role']
export type Session = Item<'administrators.listSessions'>

const path = (id: string) => `admin/administrators/${segment(id)}` as const

export const listAdministrators = (signal: AbortSignal) =>
  get<'administrators.list'>('admin/administrators', {}, { signal })

export const inviteAdministrator = (input: { readonly email: string; readonly role: Role }) =>
  post<'administrators.invite'>('admin/administrators', input)

export const createLink = (id: string) => post<'administrators.reinvite'>(`${path(id)}/invitation`)

export const changeAdministrator = ({
  id,
  ...change
}: {
  readonly id: string
  readonly role?: Role
  readonly isDisabled?: boolean
}) => patch<'administrators.update'>(path(id), change)

export const removeAdministrator = (id: string) => remove<'administrators.remove'>(path(id))

export const removeIdentity = (id: string) => remove<'administrators.removeIdentity'>(`${path(id)}/identity`)
