import type { SecretBox } from '../../../lib/secret-box.ts'
import type { AccountContext } from '../accounts/index.ts'

/** Dependencies of the use cases: those of accounts, and the key of secrets at rest. */
export interface MfaContext {
  readonly accounts: AccountContext
  readonly secrets: SecretBox
}
