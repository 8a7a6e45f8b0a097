import { Resolver } from 'node:dns/promises'
import { codeOf } from '../../../../lib/errors.ts'

/** Function that returns the TXT records of a name, each as its stored parts. @throws with a code of node:dns */
export type ResolveTxt = (name: string) => Promise<readonly (readonly string[])[]>

/** Creates a resolver that queries the name servers of the system. */
export function createTxtResolver(): ResolveTxt {
  const resolver = new Resolver({ timeout: 3000, tries: 2 })
  return (name) => resolver.resolveTxt(name)
}

export type VerificationOutcome =
  | { readonly kind: 'found' }
  /** The name servers report no such record. */
  | { readonly kind: 'absent'; readonly reason: string }
  /** The name servers failed. This changes no state. */
  | { readonly kind: 'unavailable'; readonly reason: string }

/** Queries the record that proves the ownership of a domain. */
export async function verify(
  resolve: ResolveTxt,
  { name, value }: { readonly name: string; readonly value: string },
): Promise<VerificationOutcome> {
  try {
    const records = await resolve(name)
    if (records.some((parts) => parts.join('').trim() === value)) return { kind: 'found' }
    return { kind: 'absent', reason: `no TXT record of ${name} is the expected value` }
  } catch (error) {
    const code = codeOf(error) ?? 'UNKNOWN'
    if (['ENOTFOUND', 'ENODATA'].includes(code))
      return { kind: 'absent', reason: `${name} has no TXT record` }
    return { kind: 'unavailable', reason: `the name servers did not answer for ${name} (${code})` }
  }
}
