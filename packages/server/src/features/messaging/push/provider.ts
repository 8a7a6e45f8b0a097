import { readRetryAfter } from '../../../lib/retry-after.ts'
import type { PushMessage } from './message.ts'

export const providerNames = ['fcm', 'apns', 'webpush'] as const
export type ProviderName = (typeof providerNames)[number]

/** A message on its way to one device. */
export interface Outgoing {
  /** Id of the delivery: the same for every attempt. */
  readonly id: string
  readonly token: string
  /** Keys of Web Push. */
  readonly keys: WebPushKeys | undefined
  readonly message: PushMessage
  /** Seconds after which the message is of no use. */
  readonly ttlSeconds: number
}

/** Keys of a browser's subscription, base64url (Push API, `PushSubscription.toJSON`). */
export interface WebPushKeys {
  readonly p256dh: string
  readonly auth: string
}

export const errorCodes = [
  'unregistered',
  'invalid_token',
  'provider_auth',
  'payload_too_large',
  'provider_error',
  'provider_not_configured',
  'expired',
  'device_moved',
] as const
export type ErrorCode = (typeof errorCodes)[number]

/** Outcome of one attempt. Reasons are the provider's words without anything of the request. */
export type Outcome =
  | { readonly kind: 'sent'; readonly messageId: string }
  /** The device is gone for good. */
  | {
      readonly kind: 'dead'
      readonly code: 'unregistered' | 'invalid_token'
      readonly reason: string
      /** A device that registered after this is a new one; undefined: now. */
      readonly since?: Date | undefined
    }
  /** Another attempt would fail as well, for this message, whatever the device. */
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly reason: string }
  /** Another attempt may succeed. */
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly reason: string }
  /** The provider takes no more for a while. */
  | {
      readonly kind: 'throttled'
      readonly seconds: number
      readonly reason: string
      /** True if it holds for all messages, not for this one alone. */
      readonly isForAll: boolean
    }

/** Transport of messages to devices. */
export interface PushProvider {
  /** Returns the group of messages that is paused together: all, or those to one push service. */
  lane(token: string): string
  /** Answers, or fails, within {@link exchangeTimeoutMs} for each exchange that it takes. */
  send(outgoing: Outgoing): Promise<Outcome>
  close(): void
}

/** Time for one exchange with a provider. */
export const exchangeTimeoutMs = 10_000

/** Seconds to wait: what `Retry-After` asks for, from one second to an hour; without it, the given ones. */
export function retryAfter(
  header: string | string[] | null | undefined,
  fallback: number,
  now: Date,
): number {
  return Math.min(Math.max(1, readRetryAfter(header, now) ?? fallback), 3600)
}

/** A reason of the provider as it may be kept: short, and without the device's token. */
export function reasonOf(text: string, token: string): string {
  return text.replaceAll(token, '[token]').replaceAll('\0', '').slice(0, 500)
}
