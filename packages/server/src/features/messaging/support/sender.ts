import { createRequire } from 'node:module'
import type { InboundMail } from './inbound-mail.ts'

/**
 * Returns whether the user sent a mail. `From` can be forged, so it counts only with DKIM of its domain, or
 * when MAIL FROM is the same address and SPF does not deny it. A gateway without SPF and DKIM results must
 * reject mail that these deny.
 */
export function isSentBy({ sender, returnPath, spf, dkim }: InboundMail, address: string): boolean {
  if (sender !== address) return false
  const domain = address.slice(address.lastIndexOf('@') + 1)
  if (dkim !== undefined && isSigned(dkim, domain)) return true
  if (returnPath !== address) return false
  return spf === undefined ? dkim === undefined : /^pass\b/i.test(spf)
}

/**
 * Returns whether a signature is valid (RFC 7489 §3.1.1): `{@example.com : pass}`. Its domain may be the
 * sender's, or one above or below it with the same registered domain. Higher domains are public suffixes,
 * under which anyone can register.
 */
function isSigned(dkim: string, domain: string): boolean {
  const signers = Array.from(dkim.matchAll(/@([\w.-]+)\s*:\s*pass\b/gi), ([, name = '']) =>
    name.toLowerCase(),
  )
  return signers.some((signer) => {
    if (signer === domain) return true
    const isNear = domain.endsWith(`.${signer}`) || signer.endsWith(`.${domain}`)
    const registered = isNear ? registeredDomain(signer) : null
    return registered !== null && registered === registeredDomain(domain)
  })
}

const require = createRequire(import.meta.url)
type Suffixes = typeof import('tldts')
/** List of nearly ten thousand suffixes, loaded with the first signature that needs it. */
let suffixes: Suffixes | undefined

/**
 * Returns the registered domain, or null for a public suffix. Suffixes of hosters count too, because their
 * customers are strangers to each other.
 */
function registeredDomain(name: string): string | null {
  suffixes ??= require('tldts') as Suffixes
  return suffixes.getDomain(name, { allowPrivateDomains: true, validateHostname: false })
}
