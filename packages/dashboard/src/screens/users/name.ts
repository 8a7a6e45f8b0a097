import type { User } from './api.ts'

/** What a user is called in lists and headings. */
export function nameOf({ email, phone, id }: Pick<User, 'email' | 'phone' | 'id'>): string {
  return email || phone || id
}
