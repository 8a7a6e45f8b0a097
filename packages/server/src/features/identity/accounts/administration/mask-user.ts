import type { AdminIdentity } from '../../../../http/access/identity.ts'
import { holds } from '../../../../http/access/permissions.ts'

interface Addresses {
  readonly email: string
  readonly phone?: string | undefined
}

/** Returns the user as the administrator may see it: without whole addresses and phone numbers for viewers. */
export function maskFor<User extends Addresses>({ role }: Pick<AdminIdentity, 'role'>, user: User): User {
  if (holds(role, 'users.read')) return user
  const { email, phone } = user
  return { ...user, email: maskEmail(email), phone: phone === undefined ? undefined : maskPhone(phone) }
}

/** Returns the name of a user as the administrator may see it. */
export function maskNameFor({ role }: Pick<AdminIdentity, 'role'>, name: string | null): string | null {
  if (name === null || holds(role, 'users.read')) return name
  return name.includes('@') ? maskEmail(name) : maskPhone(name)
}

/** Returns the first character of an address. Its domain may name its owner. */
function maskEmail(email: string): string {
  if (email === '') return ''
  const [first = ''] = email
  return `${first}***@***`
}

/** Returns the last two digits. */
function maskPhone(phone: string): string {
  return `***${phone.slice(-2)}`
}
