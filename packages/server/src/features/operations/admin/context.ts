import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Throttle } from '../throttle/index.ts'

/** Hashing of passwords; the same as of users. */
export interface PasswordHashing {
  hash(password: string): Promise<string>
  verify(password: string, hash: string): Promise<boolean>
}

export interface AdminDeps {
  readonly database: SystemDatabase
  readonly passwords: PasswordHashing
  readonly throttle: Throttle
  /** Called once what the first start made has been used or replaced, and again at will. */
  readonly forgetFirstSignIn: () => void
}
