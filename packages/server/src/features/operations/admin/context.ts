import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Origins } from '../../../http/access/origins.ts'
import type { AdministratorRole } from '../../../http/access/permissions.ts'
import type { BreachedPasswords } from '../../../http/breached-passwords.ts'
import type { JobQueue } from '../../../job-queue.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import type { Throttle } from '../throttle/index.ts'
import type { AdminTokenVerifier } from './token-verifier.ts'

/** Company's OpenID provider, whose people sign in as administrators: `admin.oidc`. */
export interface SignInProvider {
  readonly issuer: string
  /** Name on the sign-in page. */
  readonly title: string
  /** Role by group. Empty if the provider decides no roles. */
  readonly roles: Readonly<Record<string, AdministratorRole>>
  /** Role without one of the groups; undefined for none. */
  readonly defaultRole: AdministratorRole | undefined
}

/** Ways in which administrators sign in. */
export interface SignInMethods {
  /** False if passwords, and passkeys without another factor, are refused. */
  readonly password: boolean
  readonly provider: SignInProvider | undefined
}

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
  readonly methods: SignInMethods
  /**
   * Removes the credentials of the first start. It is called once they have been used or replaced, and may be
   * called again.
   */
  readonly forgetFirstSignIn: () => void
}

/** Dependencies of the operations. */
export interface AdminContext extends AdminDeps {
  /** Passwords of data breaches, which are rejected. */
  readonly breachedPasswords: BreachedPasswords
  readonly tokens: AdminTokenVerifier
  readonly origins: Origins
  readonly queue: JobQueue
  /** Returns the URL at which people reach the dashboard; undefined unless it is served. */
  readonly dashboardUrl: () => string | undefined
  readonly publicBaseUrl: () => string
  /** Returns the box that encrypts secrets of factors. */
  readonly secrets: () => SecretBox
  readonly appName: string
  readonly log: Pick<Logger, 'info' | 'warn'>
}
