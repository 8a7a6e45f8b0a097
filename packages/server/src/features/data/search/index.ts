import type { Notifications } from '../../../database/notifications.ts'
import type { Database } from '../../../database/open.ts'
import type { Feature } from '../../../feature.ts'
import type { StoredDefinitions } from './definitions.ts'

export { StoredDefinitions } from './definitions.ts'

export interface SearchDeps {
  readonly database: Database
  readonly notifications: Notifications
  readonly definitions: StoredDefinitions
}

/** How collections are searched: settings, synonyms, indexes. */
export function search({ definitions }: SearchDeps): Feature {
  return { name: 'search', start: () => definitions.start() }
}
