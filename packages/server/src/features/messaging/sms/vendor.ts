import { memberAt, parseJson } from '../../../lib/json.ts'
import type { SmsProviderConfig } from './config.ts'
import type { OutgoingRequest, Reply } from './exchange.ts'
import type { TextMessage } from './provider.ts'

/** Outcome of a reply. */
export type Outcome =
  | { readonly isAccepted: true; readonly messageId: string | undefined }
  | {
      readonly isAccepted: false
      /** True if the provider will never accept this message. */
      readonly isFinal: boolean
      /** Reason for the operator. It may quote the provider and is redacted before it is shown. */
      readonly reason: string
    }

/** Provider with its documented request, and the distinction of success and failure in its reply. */
export interface Vendor {
  /** Values that must never appear in an error. */
  readonly secrets: readonly string[]
  /** Builds the request. @param id the same for every attempt to send one message */
  request(message: TextMessage, id: string | undefined): OutgoingRequest | Promise<OutgoingRequest>
  read(reply: Reply): Outcome
}

/** Returns the outcome of an accepted message. @param messageId of the provider; only a short text counts */
export function accepted(messageId: unknown): Outcome {
  const isId = typeof messageId === 'string' && messageId !== '' && messageId.length <= 255
  return { isAccepted: true, messageId: isId ? messageId : undefined }
}

/** Returns the outcome of the HTTP status, unless the provider states a more precise one. */
export function rejected({ status }: Reply, detail?: string): Outcome {
  const isFinal = status >= 400 && status < 500 && ![408, 425, 429].includes(status)
  return { isAccepted: false, isFinal, reason: withDetail(`HTTP ${status}`, detail) }
}

/** Returns the outcome of a provider's own verdict, which overrides its HTTP status. */
export function rejectedBy({ status }: Reply, isFinal: boolean, detail?: string): Outcome {
  return { isAccepted: false, isFinal, reason: withDetail(`HTTP ${status}`, detail) }
}

/**
 * Returns the outcome of a success without the provider's receipt, such as a proxy page. It is unknown
 * whether the message was sent.
 */
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

/** Returns the reply as JSON. Returns undefined if it is not JSON. */
export function jsonOf({ text }: Reply): unknown {
  return parseJson(text)
}

/** Joins the texts and numbers of a provider's error in one line. */
export function joinDetail(...parts: readonly unknown[]): string {
  return parts
    .filter((part) => (typeof part === 'string' && part !== '') || typeof part === 'number')
    .join(' ')
}

/** Returns an address of the provider, or of its stand-in. */
export function addressOf(base: string, configured: string, path: string): string {
  return (configured === '' ? base : configured).replace(/\/+$/, '') + path
}

/** Returns the parameter that makes the provider report the status of a message, if it can reach this server. */
export function callbackIn(name: string, { sms_status_url: url }: SmsProviderConfig): Record<string, string> {
  return url === '' ? {} : { [name]: url }
}

/** Returns HTTP Basic credentials in UTF-8 (RFC 7617). */
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
 * Reads the receipt of an accepted message as a text, or otherwise the provider's reasons.
 *
 * @param receipt reads the receipt of the JSON
 * @param reasons read the parts of an error, in the order in which they are shown
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
