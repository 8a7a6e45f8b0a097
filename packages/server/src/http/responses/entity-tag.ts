import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Suffix of a tag that names the content coding: each coded representation has its own tag (RFC 9110 §8.8.3.3). */
const codingSuffix = /-(?:gzip|br|zstd)$/

/** Tag of a list, as `If-Match` and `If-None-Match` have it (RFC 9110 §8.8.3). */
export interface EntityTag {
  readonly isWeak: boolean
  /** Text between the quotes, without the suffix of a coding. */
  readonly opaque: string
  /** Tag as it was sent, without `W/`. */
  readonly sent: string
}

/**
 * Parses a list of entity tags, or `*`.
 *
 * @returns undefined if the header has another form
 */
export function parseTags(header: string): '*' | readonly EntityTag[] | undefined {
  if (header.trim() === '*') return '*'
  const tags: EntityTag[] = []
  const pattern = /[\t ]*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[\t ]*(,|$)/y
  for (let isLast = false; !isLast; ) {
    const [, weak, opaque = '', separator] = pattern.exec(header) ?? []
    if (separator === undefined) return undefined
    tags.push({ isWeak: weak !== undefined, opaque: opaque.replace(codingSuffix, ''), sent: `"${opaque}"` })
    isLast = separator === ''
  }
  return tags
}

/** Returns the text between the quotes of one of our tags. */
function opaqueOf(tag: string): string {
  return tag.slice(tag.indexOf('"') + 1, -1)
}

/** Returns the tag of a representation in a coding. */
export function codedTag(tag: string, coding: string): string {
  return `${tag.slice(0, -1)}-${coding}"`
}

/** Returns 96 bits of the SHA-256 of a text, in hexadecimal. */
export function digestOf(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 24)
}

/**
 * Returns whether the client has the representation that the response would carry (RFC 9110 §13.1.2). The response then has
 * the tag of the coding that the client has.
 */
export function isKnown({ headers }: FastifyRequest, reply: FastifyReply): boolean {
  const header = headers['if-none-match']
  const tag = reply.getHeader('etag')
  if (header === undefined || typeof tag !== 'string') return false
  const tags = parseTags(header)
  if (tags === undefined || tags === '*') return tags === '*'
  const known = tags.find(({ opaque }) => opaque === opaqueOf(tag))
  if (known === undefined) return false
  void reply.header('etag', tag.startsWith('W/') ? `W/${known.sent}` : known.sent)
  return true
}

/** Sends a response without a body: the client has it. */
export function sendNotModified(reply: FastifyReply): FastifyReply {
  return reply.code(304).removeHeader('content-type').send()
}

/** Adds names of request headers to `Vary`. */
export function varyBy(reply: FastifyReply, ...names: readonly string[]): void {
  const present = reply.getHeader('vary')
  void reply.header('vary', [...(typeof present === 'string' ? [present] : []), ...names].join(', '))
}
