import type { IncomingHttpHeaders } from 'node:http'
import { requireJson } from '../../../../http/requests/body.ts'
import { isSmsStatus, type SmsStatus } from '../statuses.ts'

/** A callback as it arrived; nothing of it has been read yet. */
export interface CallbackRequest {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** The addresses that the provider may have called: signatures cover the one it knows. */
  readonly urls: readonly string[]
  readonly now: Date
}

export interface Report {
  readonly messageId: string | undefined
  /** Undefined: one that says nothing about the delivery. */
  readonly status: SmsStatus | undefined
  readonly error: string | undefined
}

/** Signature and content of the callbacks of one provider. */
export interface StatusCallback {
  /** Value of `auth.sms_provider`. */
  readonly provider: string
  /** The header of the signature. */
  readonly header: string
  /** Member that holds the id of the message. */
  readonly idName: string
  isSigned(request: CallbackRequest): boolean
  /** Reads a body whose signature is right. */
  read(body: Buffer): Report
}

export function headerOf({ headers }: CallbackRequest, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

/** Fields of a form in the order of their names, which several providers sign. */
export function sortedFields(body: Buffer): [string, string][] {
  const fields = [...new URLSearchParams(body.toString('utf8'))]
  return fields.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0))
}

/** @throws AppError invalid_json */
export function parseBody(body: Buffer): unknown {
  return requireJson(body.toString('utf8'))
}

/** @param names what the provider calls a status that we call otherwise */
export function statusOf(
  given: unknown,
  names: Readonly<Record<string, SmsStatus>> = {},
): SmsStatus | undefined {
  if (typeof given !== 'string') return undefined
  const name = given.toLowerCase()
  if (Object.hasOwn(names, name)) return names[name]
  return isSmsStatus(name) ? name : undefined
}

/** A text that PostgreSQL stores and an operator reads. */
export function textOf(given: unknown): string | undefined {
  if (typeof given !== 'string' && typeof given !== 'number') return undefined
  const text = String(given)
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
  return text === '' ? undefined : text.slice(0, 255)
}
