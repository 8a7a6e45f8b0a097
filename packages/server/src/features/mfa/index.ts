import type { Feature } from '../../feature.ts'
import type { SecondFactors } from '../accounts/index.ts'
import type { MfaContext } from './context.ts'
import { isEnrolled, removeAllFactors } from './factors.ts'
import { mfaRoutes } from './routes.ts'
import { sentCodeJob } from './sent-codes.ts'

export type { MfaContext } from './context.ts'
export { mfaErrorTable } from './errors.ts'
export { removeStaleEnrollments } from './factors.ts'

/** What accounts ask of the second factors. */
export const secondFactors: SecondFactors = { isEnrolled, removeAll: removeAllFactors }

/** Second factors: authenticator app, codes by mail and SMS, backup codes. */
export function mfa(context: MfaContext): Feature {
  context.accounts.jobs.define(sentCodeJob(context))
  return { name: 'mfa', routes: (app) => mfaRoutes(app, context) }
}
