import { domainToASCII } from 'node:url'

/** Sender of mail. */
export interface Sender {
  /** Display name; empty without one. */
  readonly name: string
  readonly address: string
}

/** Parses `Shop <mail@example.com>`, `"Shop, Ltd" <mail@example.com>` or the bare address. */
export function parseSender(text: string): Sender {
  const open = text.lastIndexOf('<')
  if (open === -1 || !text.trimEnd().endsWith('>')) return { name: '', address: text.trim() }
  const name = text.slice(0, open).trim()
  const unquoted = /^"(.*)"$/.exec(name)?.[1]?.replace(/\\(.)/g, '$1')
  return { name: unquoted ?? name, address: text.slice(open + 1, text.lastIndexOf('>')).trim() }
}

/** Returns the domain in ASCII; `localhost` when it is invalid. */
export function domainOf({ address }: Sender): string {
  return domainToASCII(address.slice(address.lastIndexOf('@') + 1)) || 'localhost'
}
