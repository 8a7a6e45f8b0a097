import { hashToken } from '../../../../lib/tokens.ts'

/** Person at the stand-in. */
export interface Person {
  readonly name: string
  /** Address; empty for none. */
  readonly email: string
  /** True if the provider vouches for the address. */
  readonly isVerified: boolean
}

/** Persons that the page offers at first. */
export const firstPeople: readonly Person[] = [
  { name: 'Ada Lovelace', email: 'ada@example.com', isVerified: true },
  { name: 'Grace Hopper', email: 'grace@example.com', isVerified: true },
  { name: 'Someone without an address', email: '', isVerified: false },
]

/** Maximum length of a name or address. */
const longest = 200

/** Reads a person from the form. Returns the problem instead if there is one. */
export function readPerson(form: URLSearchParams): Person | string {
  const name = (form.get('name') ?? '').trim()
  const email = (form.get('email') ?? '').trim()
  if (name === '' && email === '') return 'Enter a name or an address.'
  if (name.length > longest || email.length > longest) return `At most ${longest} characters.`
  if (email !== '' && !/^[^\s@]+@[^\s@]+$/.test(email)) return 'The address needs an @ between two parts.'
  return {
    name: name === '' ? email : name,
    email,
    isVerified: email !== '' && form.get('choice') === 'verified',
  }
}

/**
 * Returns the claims of the userinfo endpoint. The id is the same for the same person in each process, and no real
 * provider has such ids.
 */
export function claimsOf(provider: string, { name, email, isVerified }: Person) {
  const key = email === '' ? `name ${name}` : email.toLowerCase()
  const sub = `stand-in:${hashToken(`${provider} ${key}`).toString('hex').slice(0, 24)}`
  return { sub, name, ...(email === '' ? {} : { email, email_verified: isVerified }) }
}
