import { memberAt, parseJson } from '../../../lib/json.ts'
import type { SmsProviderConfig } from './config.ts'
import type { OutgoingRequest, Reply } from './exchange.ts'
import type { TextMessage } from './provider.ts'

/** Outcome that a reply states. */
export type Outcome =
  | { readonly isAccepted: true; readonly messageId: string | undefined }
  | {
      readonly isAccepted: false
      /** True if the provider will never accept this message. */
      readonly isFinal: boolean
      /** For the operator; may repeat what the provider said and is redacted before it is shown. */
      readonly reason: string
    }

/** One provider: its documented request, and how its reply distinguishes success from failure. */
export interface Vendor {
  /** Values that must never show in an error. */
  readonly secrets: readonly string[]
  /** @param id the same for every attempt to send one message */
  request(message: TextMessage, id: string | undefined): OutgoingRequest | Promise<OutgoingRequest>
  read(reply: Reply): Outcome
}

/** @param messageId what the provider calls the message; anything but a short text counts as none */
export function accepted(messageId: unknown): Outcome {
  const isId = typeof messageId === 'string' && messageId !== '' && messageId.length <= 255
  return { isAccepted: true, messageId: isId ? messageId : undefined }
}

/** Returns the outcome that the HTTP status states, where the provider states nothing better. */
export function rejected({ status }: Reply, detail?: string): Outcome {
  const isFinal = status >= 400 && status < 500 && ![408, 425, 429].includes(status)
  return { isAccepted: false, isFinal, reason: withDetail(`HTTP ${status}`, detail) }
}

/** A provider's own verdict, sent with a status that says otherwise. */
export function rejectedBy({ status }: Reply, isFinal: boolean, detail?: string): Outcome {
  return { isAccepted: false, isFinal, reason: withDetail(`HTTP ${status}`, detail) }
}

/** A success without the provider's receipt, such as a page of some proxy: whether it was sent is not known. */
export function notUnderstood({ status }: Reply): Outcome {
  return {
    isAccepted: false,
    isFinal: false,
    reason: `HTTP ${status} with a reply that is not the provider's`,
  }
}

export function isSuccess({ status }: Reply): boolean {
  return status >= 200 && status < 300
}

/** Returns the reply as JSON; undefined when it is not. */
export function jsonOf({ text }: Reply): unknown {
  return parseJson(text)
}

/** The texts and numbers among what a provider says, in one line. */
export function joinDetail(...parts: readonly unknown[]): string {
  return parts
    .filter((part) => (typeof part === 'string' && part !== '') || typeof part === 'number')
    .join(' ')
}

/** An address of the provider, or of what stands in for it. */
export function addressOf(base: string, configured: string, path: string): string {
  return (configured === '' ? base : configured).replace(/\/+$/, '') + path
}

/** The parameter that has the provider report the status of a message, when it can reach this server. */
export function callbackIn(name: string, { sms_status_url: url }: SmsProviderConfig): Record<string, string> {
  return url === '' ? {} : { [name]: url }
}

/** RFC 7617, in UTF-8. */
export function basicAuthorization(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`
}

type Headers = OutgoingRequest['headers']

export function postForm(
  url: string,
  fields: Readonly<Record<string, string>>,
  headers: Headers = {},
): OutgoingRequest {
  return {
    url,
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  }
}

export function postJson(url: string, value: object, headers: Headers): OutgoingRequest {
  return {
    url,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(value),
  }
}

/**
 * Reads a reply that carries the receipt of an accepted message as a text, else the provider's reasons.
 *
 * @param receipt where the receipt stands in the JSON
 * @param reasons what an error says, in the order in which it is shown
 */
export function readReceipt(
  reply: Reply,
  receipt: readonly (string | number)[],
  reasons: readonly (readonly (string | number)[])[],
): Outcome {
  const json = jsonOf(reply)
  if (!isSuccess(reply)) return rejected(reply, joinDetail(...reasons.map((path) => memberAt(json, ...path))))
  const id = memberAt(json, ...receipt)
  return typeof id === 'string' ? accepted(id) : notUnderstood(reply)
}

function withDetail(text: string, detail = ''): string {
  return detail === '' ? text : `${text}: ${detail}`
}
