import { type Deployment, requiresRls } from '../../config/development.ts'
import type { DatabaseConfig } from '../config.ts'
import { type Sql, sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'
import { buildCatalog } from './build.ts'
import type { Catalog } from './model.ts'
import { type ColumnRow, columnsQuery } from './queries/columns.ts'
import { type ConstraintRow, constraintsQuery } from './queries/constraints.ts'
import { type DistributionRow, distributionsQuery } from './queries/distributions.ts'
import { type ExtensionRow, extensionsQuery } from './queries/extensions.ts'
import { type FingerprintRow, fingerprintQuery } from './queries/fingerprint.ts'
import { type FunctionRow, functionsQuery } from './queries/functions.ts'
import { type IndexRow, indexesQuery } from './queries/indexes.ts'
import { type PolicyRow, policiesQuery } from './queries/policies.ts'
import { type RelationRow, relationsQuery } from './queries/relations.ts'
import { type RlsGapRow, rlsGapsQuery } from './queries/rls-gaps.ts'
import { type TypeRow, typesQuery } from './queries/types.ts'
import { type ViewRuleRow, viewRulesQuery } from './queries/view-rules.ts'

/** Contents of a catalog. */
export interface CatalogScope {
  readonly schemas: readonly string[]
  /** True if relations without row-level security are closed to callers. */
  readonly requireRls?: boolean
  /** True if partitions are collections of their own. */
  readonly exposePartitions?: boolean
  /**
   * Maximum wait in milliseconds for a lock, because printing policies locks the table. Undefined sets no
   * limit.
   */
  readonly lockTimeoutMs?: number
}

/** Returns the catalog contents that a configuration requires. */
export function catalogScopeOf(
  config: Pick<Deployment, 'auth'> & { readonly database: DatabaseConfig },
): CatalogScope {
  const { schemas, expose_partitions: exposePartitions } = config.database
  return { schemas, requireRls: requiresRls(config), exposePartitions }
}

/**
 * Reads the whole catalog at the start of a transaction, so that the parts match each other and the
 * fingerprint.
 */
export async function loadCatalog(
  transaction: Queryable,
  scope: CatalogScope,
  builtAt: Date,
): Promise<Catalog> {
  const { lockTimeoutMs = 0 } = scope
  await transaction.count(sql`set transaction isolation level repeatable read, read only`)
  if (lockTimeoutMs > 0) {
    await transaction.many(sql`select set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`)
  }
  return await readCatalog(transaction, scope, builtAt)
}

/** Reads the whole catalog within a transaction, including its own changes. */
export async function readCatalog(
  transaction: Queryable,
  { schemas, requireRls = false, exposePartitions = false }: CatalogScope,
  builtAt: Date,
): Promise<Catalog> {
  const read = <Row>(query: Sql) => transaction.many<Row & Record<string, unknown>>(query)
  const [fingerprint] = await read<FingerprintRow>(fingerprintQuery(schemas, requireRls))
  const constraints = await read<ConstraintRow>(constraintsQuery(schemas))
  const indexes = await read<IndexRow>(indexesQuery(schemas))
  const extensions = await read<ExtensionRow>(extensionsQuery())
  const isDistributed = extensions.some(({ name }) => name === 'citus')
  const isWhole = [...constraints, ...indexes].every(({ definition }) => definition !== null)
  return buildCatalog(
    {
      // Definitions that could not be printed are read again at the next poll.
      fingerprint: isWhole ? (fingerprint?.fingerprint ?? '') : '',
      relations: await read<RelationRow>(relationsQuery(schemas)),
      columns: await read<ColumnRow>(columnsQuery(schemas)),
      types: await read<TypeRow>(typesQuery(schemas)),
      constraints,
      indexes,
      policies: await read<PolicyRow>(policiesQuery(schemas)),
      rlsGaps: requireRls ? await read<RlsGapRow>(rlsGapsQuery(schemas)) : [],
      functions: await read<FunctionRow>(functionsQuery(schemas)),
      extensions,
      viewRules: await read<ViewRuleRow>(viewRulesQuery(schemas)),
      distributions: isDistributed ? await read<DistributionRow>(distributionsQuery()) : [],
    },
    { schemas, exposePartitions },
    builtAt,
  )
}
