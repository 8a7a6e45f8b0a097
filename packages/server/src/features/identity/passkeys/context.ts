import type { Logger } from 'pino'
import type { MfaContext } from '../mfa/index.ts'

/** What the use cases work with: that of the second factors, and where the server is reached. */
export interface PasskeyContext {
  readonly mfa: MfaContext
  /** Never made from a request's headers. */
  readonly publicBaseUrl: () => string
  readonly log: Logger
}
