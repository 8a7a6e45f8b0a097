import type { Logger } from 'pino'
import { ProviderFailure } from '../social-login/index.ts'
import { companySignInErrors } from './errors.ts'

/** Writes to the log why a response of the provider cannot be used. @returns the error to throw instead */
export function explainFailure(log: Pick<Logger, 'warn'>, error: unknown): unknown {
  if (!(error instanceof ProviderFailure)) return error
  log.warn({ reason: error.message }, 'failed to sign in an administrator with the provider of admin.oidc')
  return companySignInErrors.companySignInFailed()
}
