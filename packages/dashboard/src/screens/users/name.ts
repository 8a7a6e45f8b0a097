import type { User } from './api.ts'

/** Returns the display name of a user. */
export function nameOf({ email, phone, id }: Pick<User, 'email' | 'phone' | 'id'>): string {
  return email || phone || id
}
