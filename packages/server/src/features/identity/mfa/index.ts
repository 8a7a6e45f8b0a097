import type { Feature } from '../../../feature.ts'
import type { SecondFactors } from '../accounts/index.ts'
import { cleanUp } from './clean-up.ts'
import type { MfaContext } from './context.ts'
import { mfaErrors } from './errors.ts'
import { isEnrolled } from './factors.ts'
import { mfaRoutes } from './routes.ts'
import { sentCodeJob } from './sent-codes.ts'

export { cleanUp } from './clean-up.ts'
export type { MfaContext } from './context.ts'
export { mfaErrorTable } from './errors.ts'
export const { challengeNotFound, challengeUsed } = mfaErrors
export {
  beginFactor,
  confirmFactor,
  countSecretsByKey as countTotpSecretsByKey,
  findFactor,
  removeFactor,
} from './factors.ts'
export { lockEnroller, passSecondFactor, requireEnroller, requirePassedFactor } from './second-factor.ts'

/** What accounts ask of the second factors. */
export const secondFactors: SecondFactors = { isEnrolled }

const hourMs = 3_600_000

/** Second factors: authenticator app, codes by mail and SMS, backup codes. */
export function mfa(context: MfaContext): Feature {
  context.accounts.jobs.define(sentCodeJob(context))
  const { config, database } = context.accounts
  let timer: NodeJS.Timeout | undefined
  return {
    name: 'mfa',
    routes: (app) => mfaRoutes(app, context),
    start() {
      if (!config.clean_up.enabled) return
      // A run that fails is made up for by the next one.
      timer = setInterval(
        () => void cleanUp(database, config.clean_up).catch(() => undefined),
        hourMs,
      ).unref()
    },
    stop: () => clearInterval(timer),
  }
}
