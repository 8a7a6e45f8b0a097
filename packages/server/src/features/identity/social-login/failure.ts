import type { Logger } from 'pino'
import type { AppError } from '../../../lib/errors.ts'
import { socialLoginErrors } from './errors.ts'
import { ProviderFailure } from './providers/provider.ts'

/** Writes to the log why a provider's response cannot be used. @returns the error to throw instead */
export function explainFailure(log: Logger, provider: string, error: unknown): AppError | unknown {
  if (!(error instanceof ProviderFailure)) return error
  log.warn({ provider, reason: error.message }, 'failed to authenticate with a sign-in provider')
  return socialLoginErrors.providerFailed()
}
