import { createContext, useContext } from 'react'
import type { Operations } from './operations.ts'
import { createStore, useStore } from './store.ts'

/** Administrator of the session, and the permissions of the role. */
export type CurrentAdministrator = Operations['admin.session']['answer']
export type Permission = CurrentAdministrator['permissions'][number]

/** Administrator of the session; undefined until the session is known. */
export const currentAdministrator = createStore<CurrentAdministrator | undefined>(undefined)

/** Permission of an action. `change` is the one for changes of the current screen. */
export type Need = Permission | 'change'

/** Permission for changes of the current screen. */
export const ChangePermission = createContext<Permission>('account')

/** Returns a test whether the role of the administrator has a permission. */
export function usePermissions(): (need: Need) => boolean {
  const administrator = useStore(currentAdministrator)
  const change = useContext(ChangePermission)
  return (need) => administrator?.permissions.includes(need === 'change' ? change : need) ?? false
}
