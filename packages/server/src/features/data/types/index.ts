import { type CatalogScope, loadCatalog } from '../../../database/catalog/load.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { printDatabase } from './print-database.ts'
import type { TypedRoute } from './print-functions.ts'
import { printKysely } from './print-kysely.ts'
import { findViewColumns } from './view-origins.ts'

export type { TypedRoute } from './print-functions.ts'

export type TypesFormat = 'client' | 'kysely'

export interface GeneratedTypes {
  readonly text: string
  /** Fingerprint of the definitions. It differs when the text may differ. */
  readonly fingerprint: string
}

/**
 * Generates the types of the schemas' contents, independent of the role that reads them.
 *
 * @param transaction new transaction without statements
 * @param routes functions of the project, in the order of their paths
 */
export async function generateTypes(
  transaction: Queryable,
  scope: Pick<CatalogScope, 'schemas' | 'exposePartitions'>,
  format: TypesFormat,
  now: Date,
  routes: readonly TypedRoute[] = [],
): Promise<GeneratedTypes> {
  const catalog = await loadCatalog(transaction, scope, now)
  const views = await findViewColumns(transaction)
  const text = format === 'kysely' ? printKysely(catalog, views) : printDatabase(catalog, views, routes)
  return { text, fingerprint: catalog.fingerprint }
}
