import type { InboundMail } from './inbound-mail.ts'

/**
 * Whether a mail is of the user. Anyone can write any address into `From`, so it counts only with DKIM of its domain, or
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

/** Whether a signature of the domain, or of one above or below it, is good: `{@example.com : pass}`. */
function isSigned(dkim: string, domain: string): boolean {
  const signers = Array.from(dkim.matchAll(/@([\w.-]+)\s*:\s*pass\b/gi), ([, name = '']) =>
    name.toLowerCase(),
  )
  return signers.some(
    (signer) => signer === domain || domain.endsWith(`.${signer}`) || signer.endsWith(`.${domain}`),
  )
}
