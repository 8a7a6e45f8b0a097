import { type CatalogScope, loadCatalog } from '../../../database/catalog/load.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { printDatabase } from './print-database.ts'
import { printKysely } from './print-kysely.ts'
import { findNotNullColumns } from './view-origins.ts'

export type TypesFormat = 'client' | 'kysely'

export interface GeneratedTypes {
  readonly text: string
  /** Of the definitions: other than this when the text may be another. */
  readonly fingerprint: string
}

/** Makes the types of what the schemas hold, independent of the role that reads them. @param transaction at its start */
export async function generateTypes(
  transaction: Queryable,
  scope: Pick<CatalogScope, 'schemas' | 'exposePartitions'>,
  format: TypesFormat,
  now: Date,
): Promise<GeneratedTypes> {
  const catalog = await loadCatalog(transaction, scope, now)
  const isNotNull = await findNotNullColumns(transaction)
  const print = format === 'kysely' ? printKysely : printDatabase
  return { text: print(catalog, isNotNull), fingerprint: catalog.fingerprint }
}
