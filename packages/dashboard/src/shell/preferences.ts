import { inSession, queryClient, useApi } from '../api/queries.ts'
import { type ApiResponse, get, patch } from '../api/request.ts'
import { showToast } from '../ui/toasts.ts'

type Preferences = ApiResponse<'admin.preferences'>

/** Changed preferences. Unlike members of a request body, none is undefined. */
type PreferenceChange =
  | Pick<Preferences, 'theme'>
  | Pick<Preferences, 'foldedGroups'>
  | { readonly lastTable: string }

const key = ['preferences']

/** Returns the preferences of the administrator; undefined until they are loaded. */
export function usePreferences(): Preferences | undefined {
  return useApi(key, (signal) => get<'admin.preferences'>('admin/preferences', {}, { signal })).data
}

/** Changes preferences in the page at once, and then on the server. */
export async function changePreferences(change: PreferenceChange): Promise<void> {
  queryClient.setQueryData<Preferences>(key, (stored) => stored && { ...stored, ...change })
  try {
    await inSession(() => patch<'admin.setPreferences'>('admin/preferences', change))
  } catch (error) {
    showToast(error instanceof Error ? error.message : String(error), 'failure')
  }
}
