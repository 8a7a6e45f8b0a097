import type { Logger } from 'pino'
import type { MfaContext } from '../mfa/index.ts'

/** Dependencies of the use cases: those of the second factors, and the address of the server. */
export interface PasskeyContext {
  readonly mfa: MfaContext
  /** Never made from a request's headers. */
  readonly publicBaseUrl: () => string
  readonly log: Logger
}
