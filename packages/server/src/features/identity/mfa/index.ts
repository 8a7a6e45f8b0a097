import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { SecondFactors } from '../accounts/index.ts'
import { backupCodeOperations } from './backup-codes.ts'
import type { MfaContext } from './context.ts'
import { mfaErrors } from './errors.ts'
import { factorOperations } from './factor-operations.ts'
import { isEnrolled } from './factors.ts'
import { sentCodeOperations } from './sent-code-operations.ts'
import { sentCodeJob } from './sent-codes.ts'
import { totpOperations } from './totp.ts'

export { verifyBackupCode } from './backup-codes.ts'
export { refuseDeletedUser } from './challenges.ts'
export { cleanUp, defineUnfinishedHousekeeping } from './clean-up.ts'
export type { MfaContext } from './context.ts'
export { mfaErrorTable } from './errors.ts'
export const { challengeNotFound, challengeUsed } = mfaErrors
export { describeFactors } from './factor-operations.ts'
export {
  beginFactor,
  confirmFactor,
  countSecretsByKey as countTotpSecretsByKey,
  findFactor,
  removeFactor,
} from './factors.ts'
export { lockEnroller, passSecondFactor, requireEnroller, requirePassedFactor } from './second-factor.ts'
export { challengeSentCode, verifySentCode } from './sent-codes.ts'
export { challengeTotp, verifyTotp } from './totp.ts'

/** Second factors as accounts use them. */
export const secondFactors: SecondFactors = { isEnrolled }

/** Makes the feature of second factors: authenticator app, codes by mail and SMS, backup codes. */
export function mfa(context: MfaContext): Feature {
  context.accounts.jobs.define(sentCodeJob(context))
  const operations = [...totpOperations, ...sentCodeOperations, ...backupCodeOperations, ...factorOperations]
  return { name: 'mfa', routes: (app) => addOperations(app, context, operations) }
}
