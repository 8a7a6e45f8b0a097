import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { createThrottle } from '../../operations/throttle/index.ts'
import type { MailBackend } from './backend.ts'
import { mailRoutes } from './routes.ts'
import { createMailService } from './service.ts'
import type { MailTemplates } from './templates.ts'

export type { MailBackend, MailMessage } from './backend.ts'
export { createMailBackend } from './create-backend.ts'
export { mailErrorTable } from './errors.ts'
export { MailRefused } from './refusal.ts'
export type { RenderedMail } from './render-template.ts'
export { createMailTemplates, type MailTemplates } from './templates.ts'

export interface MailDeps {
  readonly database: SystemDatabase
  readonly templates: MailTemplates
  readonly backend: MailBackend
  readonly log: Logger
}

/** Mail: its templates, what sends it, and their administration. */
export function mail(deps: MailDeps): Feature {
  const service = createMailService({ ...deps, throttle: createThrottle(deps.database) })
  return {
    name: 'mail',
    routes: (app) => mailRoutes(app, service),
    stop: () => deps.backend.close(),
  }
}
