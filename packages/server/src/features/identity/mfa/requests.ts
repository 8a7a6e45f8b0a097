import { checkedByHandler, requiredByHandler } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

/** Members that descriptions share. */
export const ofUser = { method: 'POST', guard: 'bearer', tag: 'mfa' } as const
export const ofPendingSignIn = { method: 'POST', guard: 'mfa', tag: 'mfa' } as const

/** Members that requests of several methods share. Handlers check them once the method is known to be enabled. */
export const code = requiredByHandler(
  Type.String({ maxLength: 64, description: 'Digits. Blanks and hyphens are ignored.' }),
)
export const phone = checkedByHandler(
  { format: 'phone' },
  Type.String({ maxLength: 64, description: 'Number in international form.' }),
)
export const challengeId = Type.String({ maxLength: 64 })

/** Response that names the new challenge. */
export const challenge = Type.Object({ challenge_id: Type.String({ format: 'uuid' }) })
