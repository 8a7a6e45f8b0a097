import type { OutboundReply } from '../../../http/outbound.ts'
import type { Purge } from './purge.ts'

/** Parts of a POST request as the provider documents it. */
export interface PurgeRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Outcome of a purge, from the provider’s response. */
export type PurgeOutcome =
  | { readonly isAccepted: true }
  /** `reason` is for the operator. It repeats nothing of the response but codes. */
  | { readonly isAccepted: false; readonly isFinal: boolean; readonly reason: string }

/** Content delivery network: its documented request, and its way to report success or failure. */
export interface CdnProvider {
  /** Maximum number of addresses in one request. */
  readonly batchSize: number
  /** Builds the request. @param id id that all attempts to send one purge share */
  request(purge: Purge, id: string): PurgeRequest | Promise<PurgeRequest>
  read(reply: OutboundReply): PurgeOutcome
}

/** Reads the outcome from the HTTP status, if the provider has nothing better. */
export function readStatus({ status, error }: OutboundReply, code = ''): PurgeOutcome {
  if (status === undefined) return { isAccepted: false, isFinal: false, reason: error ?? 'no answer' }
  if (status >= 200 && status < 300) return { isAccepted: true }
  const isFinal = status < 500 && ![408, 425, 429].includes(status)
  return { isAccepted: false, isFinal, reason: `HTTP ${status}${code === '' ? '' : `, code ${code}`}` }
}

/** Returns an address of the provider or of its stand-in. */
export function addressOf(own: string, configured: string, path: string): string {
  return (configured === '' ? own : configured).replace(/\/+$/, '') + path
}
