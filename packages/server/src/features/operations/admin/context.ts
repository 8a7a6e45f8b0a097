import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Origins } from '../../../http/access/origins.ts'
import type { JobQueue } from '../../../job-queue.ts'
import type { Throttle } from '../throttle/index.ts'
import type { AdminTokenVerifier } from './token-verifier.ts'

/** Password hasher, the same as for users. */
export interface PasswordHashing {
  hash(password: string): Promise<string>
  /** Checks a password. Without a hash it takes as long, and returns false. */
  verify(password: string, hash: string | undefined): Promise<boolean>
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

/** Dependencies of the operations. */
export interface AdminContext extends AdminDeps {
  readonly tokens: AdminTokenVerifier
  readonly origins: Origins
  readonly queue: JobQueue
  /** Returns the URL at which people reach the dashboard; undefined unless it is served. */
  readonly dashboardUrl: () => string | undefined
}
