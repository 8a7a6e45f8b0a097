import { createHash } from 'node:crypto'
import { anonymousRole, callerRole } from '../../../../database/caller/caller-scope.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import { takeTransactionLock } from '../../../../database/transaction-lock.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { storageErrors } from '../errors.ts'

type Command = 'select' | 'insert' | 'update' | 'delete'

/** Of one command, for callers with a token; true: whatever the object. */
interface Rule {
  readonly command: Command
  readonly condition: Sql
  /** Also requests without a token. */
  readonly isForAll?: boolean
}

interface Template {
  readonly needsBucket: boolean
  readonly rules: readonly Rule[]
}

const own = sql`user_id = basalt.user_id()`
const every = sql`true`

const templates: Readonly<Record<string, Template>> = {
  'user-own-files': {
    needsBucket: false,
    rules: [
      { command: 'select', condition: own },
      { command: 'insert', condition: own },
      { command: 'update', condition: own },
      { command: 'delete', condition: own },
    ],
  },
  'public-read-auth-write': {
    needsBucket: false,
    rules: [
      { command: 'select', condition: every, isForAll: true },
      { command: 'insert', condition: own },
      { command: 'update', condition: own },
      { command: 'delete', condition: own },
    ],
  },
  'bucket-scoped': {
    needsBucket: true,
    rules: [
      { command: 'select', condition: every },
      { command: 'insert', condition: every },
      { command: 'update', condition: every },
      { command: 'delete', condition: every },
    ],
  },
}

export interface AppliedTemplate {
  readonly template: string
  readonly table: 'basalt.objects'
  readonly bucket?: string
  readonly policies: readonly { readonly name: string; readonly command: Command }[]
}

export type TemplateService = ReturnType<typeof createTemplateService>

/** Policies that many projects want. Applied again a template replaces its own policies and no others. */
export function createTemplateService(database: SystemDatabase) {
  return {
    /** @throws AppError storage_template_not_found, template_bucket_required, bucket_not_found */
    async apply(name: string, bucket: string | undefined, origin: RequestOrigin): Promise<AppliedTemplate> {
      const template = Object.hasOwn(templates, name) ? templates[name] : undefined
      if (template === undefined) throw storageErrors.storageTemplateNotFound(name)
      if (template.needsBucket && bucket === undefined) throw storageErrors.templateBucketRequired()
      return await database.transaction(async (transaction) => {
        const found = sql`select from basalt.buckets where name = ${bucket ?? ''}`
        if (bucket !== undefined && (await transaction.count(found)) === 0)
          throw storageErrors.bucketNotFound()
        await holdPolicies(transaction)
        const policies = template.rules.map((rule) => ({ ...rule, name: nameOf(name, bucket, rule) }))
        for (const policy of policies) await createPolicy(transaction, policy, bucket)
        const isForAll = template.rules.some((rule) => rule.isForAll)
        if (isForAll) await grantReading(transaction)
        const applied: AppliedTemplate = {
          template: name,
          table: 'basalt.objects',
          ...(bucket === undefined ? {} : { bucket }),
          policies: policies.map(({ name: policy, command }) => ({ name: policy, command })),
        }
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'storage.apply_template',
          target: name,
          detail: { bucket: bucket ?? null },
          origin,
        })
        return applied
      })
    },
  }
}

/**
 * One application after the other, on whatever node. Two would wait for each other: DROP POLICY IF EXISTS keeps a lock that
 * the CREATE POLICY of the other one conflicts with (PostgreSQL manual, "Table-Level Locks").
 */
async function holdPolicies(transaction: Queryable): Promise<void> {
  await takeTransactionLock(transaction, 'basalt storage policies')
}

/** Unique within the 63 bytes that a name may have (PostgreSQL manual, "Identifiers and Key Words"). */
function nameOf(template: string, bucket: string | undefined, { command }: Rule): string {
  const whole = [template, bucket ?? [], command].flat().join(' ')
  if (whole.length <= 63) return whole
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, 8)
  return `${template} ${command} ${hash}`
}

async function createPolicy(
  transaction: Queryable,
  { name, command, condition, isForAll = false }: Rule & { readonly name: string },
  bucket: string | undefined,
): Promise<void> {
  const policy = sql.id(name)
  const whole = bucket === undefined ? condition : sql`bucket = ${sql.literal(bucket)} and ${condition}`
  const clauses: Record<Command, Sql> = {
    select: sql`for select`,
    insert: sql`for insert`,
    update: sql`for update`,
    delete: sql`for delete`,
  }
  const roles = isForAll ? sql`${sql.id(callerRole)}, ${sql.id(anonymousRole)}` : sql.id(callerRole)
  const using = command === 'insert' ? sql.empty : sql`using (${whole})`
  const check = command === 'insert' || command === 'update' ? sql`with check (${whole})` : sql.empty
  await transaction.count(sql`drop policy if exists ${policy} on basalt.objects`)
  await transaction.count(
    sql`create policy ${policy} on basalt.objects ${clauses[command]} to ${roles} ${using} ${check}`,
  )
}

/** Requests without a token may read nothing before (see docs/guides/files.md). */
async function grantReading(transaction: Queryable): Promise<void> {
  await transaction.count(sql`
    grant select (id, bucket, name, size, content_type, user_id, created_at, updated_at, etag)
    on basalt.objects to ${sql.id(anonymousRole)}`)
}
