import type { Policy, Relation } from '../../../../database/catalog/model.ts'
import { quoteIdentifier, sql } from '../../../../database/sql.ts'
import { type Rehearsal, toCall } from '../rehearsal/rehearsal.ts'
import type { Explanation } from '../schemas.ts'
import { describeFailure } from './evaluate.ts'

/** Table that a policy reads besides the row. Its own policies decide which rows the policy finds there. */
export type PolicyRead = Explanation['reads'][number]

const countLimit = 1000

/** Describes the tables that policies read. Tables that those tables' policies read are not followed. */
export async function describeReads(
  rehearsal: Rehearsal,
  relation: Relation,
  policies: readonly Policy[],
): Promise<PolicyRead[]> {
  const names = policies.filter(({ readsRelations }) => readsRelations).map(({ name }) => name)
  if (names.length === 0) return []
  const { rows } = await rehearsal.attemptPastPolicies(
    toCall(sql`
      select distinct p.polname::text, n.nspname::text, c.relname::text, c.relrowsecurity::text
      from pg_policy p
      join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refclassid = 'pg_class'::regclass
      join pg_class c on c.oid = d.refobjid and c.oid <> p.polrelid
      join pg_namespace n on n.oid = c.relnamespace
      where p.polrelid = ${`${quoteIdentifier(relation.schema)}.${quoteIdentifier(relation.name)}`}::regclass
        and p.polname = any (${names}::text[])
      order by 1, 2, 3`),
  )
  const reads: PolicyRead[] = []
  for (const [policy, schema, name, isProtected] of rows) {
    if (policy == null || schema == null || name == null) continue
    const counted = await countVisible(rehearsal, schema, name)
    const table = schema === 'public' ? name : `${schema}.${name}`
    reads.push({
      policy,
      schema,
      name,
      rlsEnabled: isProtected === 'true',
      ...counted,
      sentence: describeRead(policy, table, counted),
    })
  }
  return reads
}

type Counted = Pick<PolicyRead, 'visible' | 'isMore' | 'error'>

async function countVisible(rehearsal: Rehearsal, schema: string, name: string): Promise<Counted> {
  try {
    const [answer] = await rehearsal.attempt([
      toCall(sql`
        select count(*) from (select from ${sql.id(schema, name)} limit ${sql.integer(countLimit + 1)}) seen`),
    ])
    const count = Number(answer?.rows[0]?.[0] ?? 0)
    return { visible: Math.min(count, countLimit), isMore: count > countLimit }
  } catch (error) {
    return { visible: undefined, isMore: false, error: describeFailure(error) }
  }
}

function describeRead(policy: string, table: string, { visible, isMore, error }: Counted): string {
  if (error !== undefined) return `"${policy}" reads ${table}, which fails for this caller: ${error.message}`
  const count = isMore ? `more than ${visible} rows` : `${visible} ${visible === 1 ? 'row' : 'rows'}`
  return `"${policy}" reads ${table}, of which this caller sees ${count}`
}
