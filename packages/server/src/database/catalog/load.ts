import { type Sql, sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'
import { buildCatalog } from './build.ts'
import type { Catalog } from './model.ts'
import { type ColumnRow, columnsQuery } from './queries/columns.ts'
import { type ConstraintRow, constraintsQuery } from './queries/constraints.ts'
import { type ExtensionRow, extensionsQuery } from './queries/extensions.ts'
import { type FingerprintRow, fingerprintQuery } from './queries/fingerprint.ts'
import { type FunctionRow, functionsQuery } from './queries/functions.ts'
import { type IndexRow, indexesQuery } from './queries/indexes.ts'
import { type PolicyRow, policiesQuery } from './queries/policies.ts'
import { type RelationRow, relationsQuery } from './queries/relations.ts'
import { type RlsGapRow, rlsGapsQuery } from './queries/rls-gaps.ts'
import { type TypeRow, typesQuery } from './queries/types.ts'

/** What a catalog shows. */
export interface CatalogScope {
  readonly schemas: readonly string[]
  /** Whether relations without row-level security are kept from callers. */
  readonly requireRls?: boolean
}

/** Reads the whole catalog at the start of a transaction, so that the parts fit each other and the fingerprint. */
export async function loadCatalog(
  transaction: Queryable,
  { schemas, requireRls = false }: CatalogScope,
  builtAt: Date,
): Promise<Catalog> {
  const read = <Row>(query: Sql) => transaction.many<Row & Record<string, unknown>>(query)
  await transaction.count(sql`set transaction isolation level repeatable read, read only`)
  const [fingerprint] = await read<FingerprintRow>(fingerprintQuery(schemas, requireRls))
  return buildCatalog(
    {
      fingerprint: fingerprint?.fingerprint ?? '',
      relations: await read<RelationRow>(relationsQuery(schemas)),
      columns: await read<ColumnRow>(columnsQuery(schemas)),
      types: await read<TypeRow>(typesQuery(schemas)),
      constraints: await read<ConstraintRow>(constraintsQuery(schemas)),
      indexes: await read<IndexRow>(indexesQuery(schemas)),
      policies: await read<PolicyRow>(policiesQuery(schemas)),
      rlsGaps: requireRls ? await read<RlsGapRow>(rlsGapsQuery(schemas)) : [],
      functions: await read<FunctionRow>(functionsQuery(schemas)),
      extensions: await read<ExtensionRow>(extensionsQuery()),
    },
    schemas,
    builtAt,
  )
}
