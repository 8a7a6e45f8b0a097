import type { OutboundReply } from '../../../http/outbound.ts'
import type { Purge } from './purge.ts'

/** A POST as the provider documents it. */
export interface PurgeRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What a reply says of the purge. */
export type PurgeOutcome =
  | { readonly isAccepted: true }
  /** `reason` is for the operator and repeats nothing of the reply but codes. */
  | { readonly isAccepted: false; readonly isFinal: boolean; readonly reason: string }

/** A content delivery network: its documented request, and how its reply distinguishes success from failure. */
export interface CdnProvider {
  /** Addresses that one request may name. */
  readonly batchSize: number
  /** @param id the same for every attempt to send one purge */
  request(purge: Purge, id: string): PurgeRequest | Promise<PurgeRequest>
  read(reply: OutboundReply): PurgeOutcome
}

/** What the status of HTTP says where the provider says nothing better. */
export function readStatus({ status, error }: OutboundReply, code = ''): PurgeOutcome {
  if (status === undefined) return { isAccepted: false, isFinal: false, reason: error ?? 'no answer' }
  if (status >= 200 && status < 300) return { isAccepted: true }
  const isFinal = status < 500 && ![408, 425, 429].includes(status)
  return { isAccepted: false, isFinal, reason: `HTTP ${status}${code === '' ? '' : `, code ${code}`}` }
}

/** An address of the provider, or of what stands in for it. */
export function addressOf(own: string, configured: string, path: string): string {
  return (configured === '' ? own : configured).replace(/\/+$/, '') + path
}
