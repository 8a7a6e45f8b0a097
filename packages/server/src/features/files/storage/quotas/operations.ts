import { sql } from '../../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import { ok, operation } from '../../../../http/operation.ts'
import { type Answered, checkedByHandler, component, nullable } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { storageErrors } from '../errors.ts'

export interface QuotaDeps {
  readonly database: SystemDatabase
  readonly defaultQuotaMb: number
}

const mebibyte = 1024 * 1024
const quotaMbLimit = 1_000_000_000

const StorageQuota = component(
  'StorageQuota',
  Type.Object({
    usage_bytes: Type.Integer(),
    quota_bytes: Type.Integer({ description: '0: no limit.' }),
    quota_mb: nullable(Type.Integer(), { description: 'null: as configured.' }),
  }),
)

const common = { guard: 'admin', permission: 'users.read', tag: 'storage' } as const
const path = '/api/admin/users/:id/storage-quota'
const params = Type.Object({
  id: checkedByHandler({ format: 'uuid' }, Type.String({ description: 'Id of the user.' })),
})

const get = operation({
  ...common,
  id: 'storage.getQuota',
  method: 'GET',
  path,
  summary: 'Get what a user stores and may store',
  params,
  success: ok(StorageQuota),
  handle: ({ database, defaultQuotaMb }: QuotaDeps, { params }) =>
    findQuota(database, params.id, defaultQuotaMb),
})

const set = operation({
  ...common,
  id: 'storage.setQuota',
  permission: 'users.manage',
  method: 'PUT',
  path,
  summary: 'Set what a user may store',
  params,
  body: Type.Object({
    quota_mb: nullable(checkedByHandler({ minimum: 0, maximum: quotaMbLimit }, Type.Integer()), {
      description: 'MiB; 0: no limit; null: as configured.',
    }),
  }),
  success: ok(StorageQuota),
  async handle({ database, defaultQuotaMb }: QuotaDeps, { params: { id }, body: { quota_mb }, origin }) {
    if (quota_mb !== null && quota_mb < 0) throw storageErrors.invalidStorageQuota('>= 0')
    if (quota_mb !== null && quota_mb > quotaMbLimit) {
      throw storageErrors.invalidStorageQuota(`<= ${quotaMbLimit}`)
    }
    return await database.transaction(async (transaction) => {
      await findQuota(transaction, id, defaultQuotaMb)
      await transaction.count(sql`
        insert into basalt.storage_usage (user_id, quota_mb) values (${id}::uuid, ${quota_mb}::int)
        on conflict (user_id) do update set quota_mb = excluded.quota_mb`)
      const audit = { actor: 'admin', action: 'storage.set_quota', target: id, detail: { quota_mb }, origin }
      await recordAudit(transaction, audit)
      return await findQuota(transaction, id, defaultQuotaMb)
    })
  },
})

/** Administration of quotas of users. */
export const quotaOperations = [get, set]

/** @throws AppError storage_user_not_found */
async function findQuota(
  database: Queryable,
  userId: string,
  defaultQuotaMb: number,
): Promise<Answered<typeof StorageQuota>> {
  const row = await database.maybeOne<Answered<typeof StorageQuota>>(sql`
    select coalesce(s.bytes, 0)::float8 as usage_bytes, s.quota_mb,
      coalesce(s.quota_mb, ${defaultQuotaMb}::int)::float8 * ${mebibyte}::int as quota_bytes
    from basalt.users u left join basalt.storage_usage s on s.user_id = u.id
    where u.id = ${userId}::uuid`)
  if (row === undefined) throw storageErrors.storageUserNotFound()
  return row
}
