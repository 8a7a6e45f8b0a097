import { readRetryAfter } from '../../../lib/retry-after.ts'
import type { PushMessage } from './message.ts'

export const providerNames = ['fcm', 'apns', 'webpush'] as const
export type ProviderName = (typeof providerNames)[number]

/** Message to one device, ready to send. */
export interface Outgoing {
  /** Id of the delivery, the same for every attempt. */
  readonly id: string
  readonly token: string
  /** Keys of Web Push. */
  readonly keys: WebPushKeys | undefined
  readonly message: PushMessage
  /** Seconds after which the message is useless. */
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

/** Outcome of one attempt. Reasons quote the provider and contain nothing of the request. */
export type Outcome =
  | { readonly kind: 'sent'; readonly messageId: string }
  /** Outcome for a device that no longer exists. */
  | {
      readonly kind: 'dead'
      readonly code: 'unregistered' | 'invalid_token'
      readonly reason: string
      /** Time since which the device does not exist. A later registration is a new device. Undefined means now. */
      readonly since?: Date | undefined
    }
  /** Outcome after which another attempt would fail as well, for this message and any device. */
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly reason: string }
  /** Outcome after which another attempt may succeed. */
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly reason: string }
  /** Outcome for a provider that accepts no messages for a while. */
  | {
      readonly kind: 'throttled'
      readonly seconds: number
      readonly reason: string
      /** True if it applies to all messages, not only to this device. */
      readonly isForAll: boolean
    }

/** Transport of messages to devices. */
export interface PushProvider {
  /** Returns the group of messages that is paused together: all, or those to one push service. */
  lane(token: string): string
  /** Sends a message. Each exchange with the provider ends within {@link exchangeTimeoutMs}. */
  send(outgoing: Outgoing): Promise<Outcome>
  close(): void
}

/** Time limit of one exchange with a provider. */
export const exchangeTimeoutMs = 10_000

/** Returns the seconds to wait: those of `Retry-After`, from one second to an hour, or the given ones without it. */
export function retryAfter(
  header: string | string[] | null | undefined,
  fallback: number,
  now: Date,
): number {
  return Math.min(Math.max(1, readRetryAfter(header, now) ?? fallback), 3600)
}

/** Returns a provider's reason in a form that may be stored: short, and without the device's token. */
export function reasonOf(text: string, token: string): string {
  return text.replaceAll(token, '[token]').replaceAll('\0', '').slice(0, 500)
}
