import { sql } from '../../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { storageErrors } from '../errors.ts'

const mebibyte = 1024 * 1024
const quotaMbLimit = 1_000_000_000

export interface StorageQuota {
  readonly usage_bytes: number
  /** 0: no limit. */
  readonly quota_bytes: number
  /** Null: as configured. */
  readonly quota_mb: number | null
}

export type QuotaService = ReturnType<typeof createQuotaService>

/** What users take, and what they may take. */
export function createQuotaService(database: SystemDatabase, defaultQuotaMb: number) {
  async function find(queryable: Queryable, userId: string): Promise<StorageQuota> {
    const row = await queryable.maybeOne<{ bytes: number; quota_mb: number | null }>(sql`
      select coalesce(s.bytes, 0)::float8 as bytes, s.quota_mb
      from basalt.users u left join basalt.storage_usage s on s.user_id = u.id
      where u.id = ${userId}::uuid`)
    if (row === undefined) throw storageErrors.storageUserNotFound()
    return {
      usage_bytes: row.bytes,
      quota_bytes: (row.quota_mb ?? defaultQuotaMb) * mebibyte,
      quota_mb: row.quota_mb,
    }
  }

  return {
    /** @throws AppError storage_user_not_found */
    find: (userId: string) => find(database, userId),

    /** @throws AppError storage_user_not_found, invalid_storage_quota */
    async set(userId: string, quotaMb: number | null, origin: RequestOrigin): Promise<StorageQuota> {
      if (quotaMb !== null && quotaMb < 0) throw storageErrors.invalidStorageQuota('>= 0')
      if (quotaMb !== null && quotaMb > quotaMbLimit) {
        throw storageErrors.invalidStorageQuota(`<= ${quotaMbLimit}`)
      }
      return await database.transaction(async (transaction) => {
        await find(transaction, userId)
        await transaction.count(sql`
          insert into basalt.storage_usage (user_id, quota_mb) values (${userId}::uuid, ${quotaMb}::int)
          on conflict (user_id) do update set quota_mb = excluded.quota_mb`)
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'storage.set_quota',
          target: userId,
          detail: { quota_mb: quotaMb },
          origin,
        })
        return await find(transaction, userId)
      })
    },
  }
}
