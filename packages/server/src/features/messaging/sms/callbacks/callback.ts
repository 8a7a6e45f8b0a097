import type { IncomingHttpHeaders } from 'node:http'
import { requireJson } from '../../../../http/requests/body.ts'
import { isSmsStatus, type SmsStatus } from '../statuses.ts'

/** Unread callback request. */
export interface CallbackRequest {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** Addresses that the provider may have called. Signatures cover the one it knows. */
  readonly urls: readonly string[]
  readonly now: Date
}

export interface Report {
  readonly messageId: string | undefined
  /** Status of the message. Undefined for a callback that says nothing about the delivery. */
  readonly status: SmsStatus | undefined
  readonly error: string | undefined
}

/** Signature and content of the callbacks of one provider. */
export interface StatusCallback {
  /** Value of `auth.sms_provider`. */
  readonly provider: string
  /** Header of the signature. */
  readonly header: string
  /** Member that holds the id of the message. */
  readonly idName: string
  isSigned(request: CallbackRequest): boolean
  /** Reads a body whose signature is valid. */
  read(body: Buffer): Report
}

export function headerOf({ headers }: CallbackRequest, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

/** Returns the fields of a form sorted by name, as several providers sign them. */
export function sortedFields(body: Buffer): [string, string][] {
  const fields = [...new URLSearchParams(body.toString('utf8'))]
  return fields.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0))
}

/** Parses a JSON body. @throws AppError invalid_json */
export function parseBody(body: Buffer): unknown {
  return requireJson(body.toString('utf8'))
}

/** Returns the status of a callback. @param names of statuses that the provider names differently */
export function statusOf(
  value: unknown,
  names: Readonly<Record<string, SmsStatus>> = {},
): SmsStatus | undefined {
  if (typeof value !== 'string') return undefined
  const name = value.toLowerCase()
  if (Object.hasOwn(names, name)) return names[name]
  return isSmsStatus(name) ? name : undefined
}

/** Returns a text if PostgreSQL can store it and an operator can read it. */
export function textOf(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = String(value)
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
  return text === '' ? undefined : text.slice(0, 255)
}
