import { domainToASCII } from 'node:url'

/** Who mail comes from. */
export interface Sender {
  /** Empty when none is shown. */
  readonly name: string
  readonly address: string
}

/** `Shop <mail@example.com>`, `"Shop, Ltd" <mail@example.com>` or the bare address. */
export function parseSender(text: string): Sender {
  const open = text.lastIndexOf('<')
  if (open === -1 || !text.trimEnd().endsWith('>')) return { name: '', address: text.trim() }
  const name = text.slice(0, open).trim()
  const unquoted = /^"(.*)"$/.exec(name)?.[1]?.replace(/\\(.)/g, '$1')
  return { name: unquoted ?? name, address: text.slice(open + 1, text.lastIndexOf('>')).trim() }
}

/** In ASCII; `localhost` when it is no domain. */
export function domainOf({ address }: Sender): string {
  return domainToASCII(address.slice(address.lastIndexOf('@') + 1)) || 'localhost'
}
