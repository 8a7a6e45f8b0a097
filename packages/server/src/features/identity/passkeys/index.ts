import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { administrationOperations } from './administration.ts'
import type { PasskeyContext } from './context.ts'
import { enrollmentOperations } from './enroll.ts'
import { manageOperations } from './manage.ts'
import { secondFactorOperations } from './second-factor.ts'
import { signInOperations } from './sign-in.ts'

export type { PasskeyContext } from './context.ts'
export { passkeyErrorTable } from './errors.ts'
export { challengePasskey, verifyPasskey } from './second-factor.ts'
export { beginDiscoverableSignIn, finishSignIn } from './sign-in.ts'
export { hasTwoFactors } from './two-factors.ts'

/** Makes the feature of passkeys, which sign in by themselves or are a second factor. */
export function passkeys(context: PasskeyContext): Feature {
  const operations = [
    ...enrollmentOperations,
    ...secondFactorOperations,
    ...signInOperations,
    ...manageOperations,
    ...administrationOperations,
  ]
  return { name: 'passkeys', routes: (app) => addOperations(app, context, operations) }
}
