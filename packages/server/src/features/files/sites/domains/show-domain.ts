import type { DomainRow, DomainStatus, RedirectMode } from './domain-queries.ts'
import { type VerificationRecord, verificationRecord } from './verification.ts'

export interface Domain {
  readonly id: string
  readonly hostname: string
  readonly environment: string
  readonly redirectMode?: RedirectMode
  readonly status: DomainStatus | 'active'
  /** What the owner publishes. */
  readonly verification: VerificationRecord
  readonly siteId?: string
  /** What the last check has missed. */
  readonly lastError?: string
  readonly verifiedAt?: string
  readonly checkedAt?: string
  readonly createdAt: string
  readonly updatedAt: string
}

export function showDomain(row: DomainRow): Domain {
  const isActive = row.status === 'verified' && row.site_id !== null
  return {
    id: row.id,
    hostname: row.hostname,
    environment: row.environment,
    ...(row.redirect_mode === null ? {} : { redirectMode: row.redirect_mode }),
    status: isActive ? 'active' : row.status,
    verification: verificationRecord(row.hostname, row.verification_token),
    ...(row.site_id === null ? {} : { siteId: row.site_id }),
    ...(row.last_error === null ? {} : { lastError: row.last_error }),
    ...(row.verified_at === null ? {} : { verifiedAt: row.verified_at.toISOString() }),
    ...(row.checked_at === null ? {} : { checkedAt: row.checked_at.toISOString() }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
