import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'

/** DNS label (RFC 1035 §2.3.1), which may begin with a digit (RFC 1123 §2.1). */
const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Returns the name in ASCII and lower case, as browsers send it (RFC 5890), without a trailing dot.
 *
 * @returns undefined if it cannot be a host on the Internet
 */
export function readHostname(text: string): string | undefined {
  const trimmed = text.trim().replace(/\.$/, '')
  // A URL parser would interpret these characters.
  if (/[\s\p{Cc}/\\?#@:%[\]*_]/u.test(trimmed) || !trimmed.isWellFormed()) return undefined
  const name = domainToASCII(trimmed).toLowerCase()
  const labels = name.split('.')
  const isName = labels.length > 1 && name.length <= 253 && labels.every((each) => label.test(each))
  const isReserved = isIP(name) !== 0 || /^\d+$/.test(labels.at(-1) ?? '') || labels.at(-1) === 'localhost'
  return isName && !isReserved ? name : undefined
}
