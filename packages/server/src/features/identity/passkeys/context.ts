import type { Logger } from 'pino'
import type { MfaContext } from '../mfa/index.ts'

/** Dependencies of the use cases: those of the second factors, and the address of the server. */
export interface PasskeyContext {
  readonly mfa: MfaContext
  /** Public address of the server. It never comes from a request's headers. */
  readonly publicBaseUrl: () => string
  readonly log: Logger
}
