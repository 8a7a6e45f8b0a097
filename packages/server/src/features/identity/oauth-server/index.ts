import type { FastifyReply } from 'fastify'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { ReturnToPage } from '../social-login/index.ts'
import type { PageContext } from './page/context.ts'
import { authorizePage, resumeAuthorization } from './page/index.ts'
import { oauthRoutes } from './routes.ts'
import { deleteExpiredGrants } from './token/grants.ts'

export { ClientDocuments } from './clients/documents.ts'
export { requireRegistration } from './clients/register.ts'
export { oauthServerErrorTable } from './errors.ts'
export { resourceMetadataUrl } from './metadata.ts'
export { createOAuthTokens, examineClient } from './tokens.ts'

/** Defines the clean-up job, whether or not the server is enabled, because schedules name it. */
export function defineOAuthHousekeeping(database: SystemDatabase, queue: JobQueue): void {
  queue.define(housekeeping('expired_oauth_cleanup', () => deleteExpiredGrants(database)))
}

export interface AuthorizationServer {
  readonly feature: Feature
  /** Resumes the page when a user returns from a sign-in provider. */
  readonly resume: (returned: ReturnToPage) => Promise<FastifyReply>
}

/** Makes the OAuth 2.0 authorization server, by which users give access to third-party programs. */
export function oauthServer(page: PageContext): AuthorizationServer {
  return {
    feature: {
      name: 'oauth-server',
      routes(app) {
        oauthRoutes(app, page.oauth)
        authorizePage(app, page)
      },
    },
    resume: (returned) => resumeAuthorization(page, returned),
  }
}
