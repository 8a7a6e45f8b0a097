import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import { ClientAdministration } from './clients/administration.ts'
import type { PageContext } from './page/context.ts'
import { authorizePage } from './page/index.ts'
import { adminRoutes, clientRoutes, metadataRoutes, userRoutes } from './routes.ts'
import { deleteExpiredGrants } from './token/grants.ts'

export { oauthServerErrorTable } from './errors.ts'
export { createOAuthTokens } from './tokens.ts'

/** Schedules name it whether or not the server is enabled. */
export function defineOAuthHousekeeping(database: SystemDatabase, queue: JobQueue): void {
  queue.define(housekeeping('expired_oauth_cleanup', () => deleteExpiredGrants(database)))
}

/** An OAuth 2.0 authorization server: programs of others, let in by the users. */
export function oauthServer(page: PageContext): Feature {
  const context = page.oauth
  const clients = new ClientAdministration(context.database, context.onRevoke)
  return {
    name: 'oauth-server',
    routes(app) {
      userRoutes(app, context)
      clientRoutes(app, context)
      metadataRoutes(app, context)
      authorizePage(app, page)
      adminRoutes(app, context, clients)
    },
  }
}
