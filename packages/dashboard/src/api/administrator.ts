import type { Operations } from './operations.ts'
import { createStore, useStore } from './store.ts'

/** Administrator of the session, and the permissions of the role. */
export type CurrentAdministrator = Operations['admin.session']['answer']
export type Permission = CurrentAdministrator['permissions'][number]

/** Administrator of the session; undefined until the session is known. */
export const currentAdministrator = createStore<CurrentAdministrator | undefined>(undefined)

/** Returns a test whether the role of the administrator has a permission. */
export function usePermissions(): (permission: Permission) => boolean {
  const administrator = useStore(currentAdministrator)
  return (permission) => administrator?.permissions.includes(permission) ?? false
}
