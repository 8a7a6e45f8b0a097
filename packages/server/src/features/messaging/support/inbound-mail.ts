import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { domainToASCII } from 'node:url'
import { normalizeEmail } from '../../../lib/email-address.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { textOfHtml } from '../mail/index.ts'
import { supportErrors } from './errors.ts'

/** Mail as a gateway posts it. */
export interface InboundMail {
  /** Normalized address of `From`. Undefined unless there is exactly one. */
  readonly sender: string | undefined
  /** Normalized address of SMTP's MAIL FROM. Undefined if it is empty. */
  readonly returnPath: string | undefined
  /** Domains in ASCII and lower case. */
  readonly recipientDomains: readonly string[]
  /** Ticket id in the subject. */
  readonly ticketId: string | undefined
  readonly text: string
  readonly attachments: readonly Attachment[]
  /** Contents of the attachments, in the same order. */
  readonly files: readonly Blob[]
  /** Hash that is the same whenever the mail is delivered: of its Message-ID, or of its whole content without one. */
  readonly key: Buffer
  /** Part of the Message-ID that is an id of this server, if there is one. */
  readonly ownId: string | undefined
  /** True if a program sent the mail, since a reply could cause a loop (RFC 3834 §2). */
  readonly isAutomatic: boolean
  /** SPF result of the gateway. Undefined when it states none. */
  readonly spf: string | undefined
  readonly dkim: string | undefined
}

export interface Attachment {
  readonly filename: string
  readonly content_type: string
  readonly size: number
}

const requiredFields = ['from', 'to', 'subject', 'text', 'envelope'] as const

/** Maximum length of a mail's text. A mail may have 2 MiB, but no reader needs more. */
const longestText = 100_000
const mostAttachments = 50

/** Reads a posted mail. @throws AppError missing_support_field, invalid_support_field */
export function readInboundMail(form: FormData): InboundMail {
  const files = readFiles(form)
  const attachments = files.map(describeFile)
  const html = textOf(form, 'html')
  const values = requiredFields.map((name) => {
    const text = textOf(form, name)
    // Mail without a text part has its content in HTML, or in a picture.
    const isEnough = name === 'subject' || (name === 'text' && (html !== '' || attachments.length > 0))
    if (text === '' && !isEnough) throw supportErrors.missingSupportField(name)
    return text
  })
  const [from = '', to = '', subject = '', text = '', envelope = ''] = values
  if (form.get('subject') === null) throw supportErrors.missingSupportField('subject')
  const returnPath = readReturnPath(envelope)
  const headers = readHeaders(textOf(form, 'headers'))
  const messageId = headers.get('message-id')
  const [sender, ...others] = addressesIn(from)
  return {
    sender: others.length === 0 && sender !== undefined ? normalizeEmail(sender) : undefined,
    returnPath: normalizeEmail(returnPath),
    recipientDomains: addressesIn(to).map(domainOf),
    ticketId: ticketIn(subject),
    text: clean(text === '' ? textOfHtml(html) : text),
    attachments,
    files,
    key: createHash('sha256')
      .update(messageId ?? JSON.stringify([...values, html, attachments]))
      .digest(),
    ownId: ownIdIn(messageId),
    isAutomatic: returnPath === '' || isAutomatic(headers),
    spf: optionalTextOf(form, 'SPF'),
    dkim: optionalTextOf(form, 'dkim'),
  }
}

function textOf(form: FormData, name: string): string {
  const value = form.get(name)
  return typeof value === 'string' ? value.trim() : ''
}

function optionalTextOf(form: FormData, name: string): string | undefined {
  const text = textOf(form, name)
  return text === '' ? undefined : text
}

function readFiles(form: FormData): File[] {
  const files = [...form.values()].filter((value) => typeof value !== 'string')
  return files.slice(0, mostAttachments)
}

function describeFile({ name, type, size }: File): Attachment {
  return { filename: oneLine(name), content_type: oneLine(type), size }
}

/** Returns a text that PostgreSQL can store, cut to the maximum length. */
function clean(text: string): string {
  const lines = text.toWellFormed().replaceAll('\0', '').replaceAll('\r\n', '\n').trim()
  return lines.length <= longestText ? lines : `${lines.slice(0, longestText).toWellFormed()}\n[…]`
}

function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, 255)
    .toWellFormed()
}

/** Returns the return path. It is empty for the null address of notices (RFC 5321 §4.5.5). */
function readReturnPath(envelope: string): string {
  const from = memberOf(envelope, 'from')
  if (typeof from !== 'string') {
    throw supportErrors.invalidSupportField('envelope: expected JSON with the address "from"')
  }
  return from.trim().replace(/^<(.*)>$/, '$1')
}

function memberOf(json: string, name: string): unknown {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns headers by name in lower case. The last of repeated names counts. Folded lines are joined (RFC 5322
 * §2.2.3).
 */
function readHeaders(text: string): ReadonlyMap<string, string> {
  const lines = text.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)
  return new Map(
    lines.flatMap((line): [string, string][] => {
      const colon = line.indexOf(':')
      return colon < 1 ? [] : [[line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]]
    }),
  )
}

const bulk = /^(bulk|junk|list|auto_reply)$/i

function isAutomatic(headers: ReadonlyMap<string, string>): boolean {
  const submitted = headers.get('auto-submitted') ?? 'no'
  return (
    !/^no\b/i.test(submitted) ||
    bulk.test(headers.get('precedence') ?? '') ||
    ['list-id', 'x-autoreply', 'x-autorespond'].some((name) => headers.has(name))
  )
}

function ticketIn(subject: string): string | undefined {
  const id = /\[Ticket #([0-9a-f-]{36})\]/i.exec(subject)?.[1]
  return id !== undefined && isUuid(id) ? id.toLowerCase() : undefined
}

/** Returns the id that the mail backend puts before the `@` of a Message-ID. */
function ownIdIn(messageId = ''): string | undefined {
  const id = /^<([0-9a-f-]{36})@/i.exec(messageId)?.[1]
  return id !== undefined && isUuid(id) ? id.toLowerCase() : undefined
}

function domainOf(address: string): string {
  return domainToASCII(address.slice(address.lastIndexOf('@') + 1))
}

const require = createRequire(import.meta.url)
type AddressParser = typeof import('nodemailer/lib/addressparser')
/** Parser of addresses, loaded with the first mail. */
let parser: AddressParser | undefined

/** Returns the addresses of a list such as `Ann <ann@example.com>, ben@example.com` (RFC 5322 §3.4). */
function addressesIn(list: string): string[] {
  parser ??= require('nodemailer/lib/addressparser') as AddressParser
  return parser.default(list, { flatten: true }).map(({ address }) => address)
}
