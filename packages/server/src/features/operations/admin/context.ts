import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Throttle } from '../throttle/index.ts'

/** Password hasher, the same as for users. */
export interface PasswordHashing {
  hash(password: string): Promise<string>
  verify(password: string, hash: string): Promise<boolean>
}

export interface AdminDeps {
  readonly database: SystemDatabase
  readonly passwords: PasswordHashing
  readonly throttle: Throttle
  /**
   * Removes the credentials of the first start. It is called once they have been used or replaced, and may be
   * called again.
   */
  readonly forgetFirstSignIn: () => void
}
