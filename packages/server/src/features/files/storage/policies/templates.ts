import { createHash } from 'node:crypto'
import { anonymousRole, callerRole } from '../../../../database/caller/caller-scope.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import { takeTransactionLock } from '../../../../database/transaction-lock.ts'
import { created, operation } from '../../../../http/operation.ts'
import { checkedByHandler, choice, component } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { storageErrors } from '../errors.ts'

const commands = ['select', 'insert', 'update', 'delete'] as const
type Command = (typeof commands)[number]

/** Rule for one command and callers with a token. The condition `true` holds for every object. */
interface Rule {
  readonly command: Command
  readonly condition: Sql
  /** True if the rule also applies to requests without a token. */
  readonly isForAll?: boolean
}

interface Template {
  readonly needsBucket: boolean
  readonly rules: readonly Rule[]
}

const own = sql`user_id = basalt.user_id()`
const every = sql`true`

const ruleFor = (condition: Sql) => (command: Command) => ({ command, condition })
const [select, ...writes] = commands

const templates: Readonly<Record<string, Template>> = {
  'user-own-files': { needsBucket: false, rules: commands.map(ruleFor(own)) },
  'public-read-auth-write': {
    needsBucket: false,
    rules: [{ command: select, condition: every, isForAll: true }, ...writes.map(ruleFor(own))],
  },
  'bucket-scoped': { needsBucket: true, rules: commands.map(ruleFor(every)) },
}

export const templateOperations = [
  operation({
    guard: 'admin',
    permission: 'structure.write',
    tag: 'storage',
    id: 'storage.applyTemplate',
    method: 'POST',
    path: '/api/admin/rls/templates/storage-objects/:template',
    summary: 'Create policies on objects from a template',
    description: 'Replaces the policies of an earlier application of the template, and no others.',
    params: Type.Object({ template: checkedByHandler({ enum: Object.keys(templates) }, Type.String()) }),
    body: Type.Optional(
      Type.Object({
        bucket: Type.Optional(
          Type.String({ description: 'Default: all buckets; `bucket-scoped` requires it.' }),
        ),
      }),
    ),
    success: created(
      component(
        'AppliedStorageTemplate',
        Type.Object({
          template: Type.String(),
          table: Type.String(),
          bucket: Type.Optional(Type.String()),
          policies: Type.Array(Type.Object({ name: Type.String(), command: choice(commands) })),
        }),
      ),
    ),
    async handle({ database }: { readonly database: SystemDatabase }, { params, body, origin }) {
      const { template: name } = params
      const bucket = body?.bucket
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
        if (template.rules.some((rule) => rule.isForAll)) await grantReading(transaction)
        const [action, detail] = ['storage.apply_template', { bucket: bucket ?? null }] as const
        await recordAudit(transaction, { actor: 'admin', action, target: name, detail, origin })
        const created = policies.map(({ name: policy, command }) => ({ name: policy, command }))
        return { template: name, table: 'basalt.objects', bucket, policies: created }
      })
    },
  }),
]

/**
 * Serializes applications across all nodes. Two would wait for each other: DROP POLICY IF EXISTS keeps a lock that
 * the CREATE POLICY of the other one conflicts with (PostgreSQL manual, "Table-Level Locks").
 */
async function holdPolicies(transaction: Queryable): Promise<void> {
  await takeTransactionLock(transaction, 'basalt storage policies')
}

/** Returns a name that is unique within the limit of 63 bytes (PostgreSQL manual, "Identifiers and Key Words"). */
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

/** Gives requests without a token the right to read. They may read nothing before (see docs/guides/files.md). */
async function grantReading(transaction: Queryable): Promise<void> {
  await transaction.count(sql`
    grant select (id, bucket, name, size, content_type, user_id, created_at, updated_at, etag)
    on basalt.objects to ${sql.id(anonymousRole)}`)
}
