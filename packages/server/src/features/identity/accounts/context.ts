import type { Logger } from 'pino'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { BreachedPasswords } from '../../../http/breached-passwords.ts'
import type { JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { MailBackend, MailTemplates } from '../../messaging/mail/index.ts'
import type { SmsProvider, SmsProviderConfig } from '../../messaging/sms/index.ts'
import type { Throttle } from '../../operations/throttle/index.ts'
import type { AuthSettings } from '../auth-settings/index.ts'
import type { Captcha } from '../captcha/index.ts'
import type { PasswordHasher } from '../passwords/index.ts'
import type { AccountFunctions } from './account-functions.ts'
import type { AccountConfig } from './config.ts'
import type { AccountKeys } from './keys.ts'
import type { EndedSessions } from './sessions/ended-sessions.ts'

/** Second factors as accounts use them. */
export interface SecondFactors {
  /** Returns whether the user has a factor that a sign-in must pass. */
  isEnrolled(database: Queryable, userId: string): Promise<boolean>
}

/** Dependencies of the use cases. */
export interface AccountContext {
  readonly config: AccountConfig & SmsProviderConfig
  /** True in development, as `config/development.ts` defines it. */
  readonly isDevelopment: boolean
  readonly log: Logger
  readonly appName: string
  readonly database: SystemDatabase
  readonly keys: AccountKeys
  readonly clock: Clock
  readonly passwords: PasswordHasher
  /** Passwords of data breaches, which are rejected. */
  readonly breachedPasswords: BreachedPasswords
  readonly captcha: Captcha
  readonly throttle: Throttle
  readonly settings: AuthSettings
  readonly jobs: JobQueue
  readonly mail: { readonly backend: MailBackend; readonly templates: MailTemplates }
  readonly sms: SmsProvider
  readonly endedSessions: EndedSessions
  readonly secondFactors: SecondFactors
  readonly functions: AccountFunctions
  /** Site that mailed links lead to. It never comes from a request's headers. */
  readonly siteUrl: () => string
}
