import { createRequire } from 'node:module'
import type { InboundMail } from './inbound-mail.ts'

/**
 * Returns whether a mail is of the user. Anyone can write any address into `From`, so it counts only with DKIM of its domain, or
 * when MAIL FROM is the same address, which SPF then must not deny. A gateway that says nothing of SPF and DKIM is trusted to
 * have refused what they deny.
 */
export function isSentBy({ sender, returnPath, spf, dkim }: InboundMail, address: string): boolean {
  if (sender !== address) return false
  const domain = address.slice(address.lastIndexOf('@') + 1)
  if (dkim !== undefined && isSigned(dkim, domain)) return true
  if (returnPath !== address) return false
  return spf === undefined ? dkim === undefined : /^pass\b/i.test(spf)
}

/**
 * Returns whether a signature of the domain, or of one above or below it that has the same registered domain, is good (RFC 7489
 * §3.1.1): `{@example.com : pass}`. What is above that is a public suffix, under which anybody registers.
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
/** Loaded with the first signature that needs it: a list of nearly ten thousand suffixes. */
let suffixes: Suffixes | undefined

/** Null of a public suffix, those of hosters included, whose customers are strangers to each other. */
function registeredDomain(name: string): string | null {
  suffixes ??= require('tldts') as Suffixes
  return suffixes.getDomain(name, { allowPrivateDomains: true, validateHostname: false })
}
