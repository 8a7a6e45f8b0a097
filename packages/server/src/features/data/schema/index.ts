import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { getSchema } from './operations.ts'

export { describeColumn } from './column.ts'
export { describeCatalog } from './document.ts'
export { createSchemaLog } from './schema-changes.ts'

/** Creates the feature that describes tables, columns and relations, as far as the caller may use them. */
export function schema(catalog: LiveCatalog): Feature {
  return {
    name: 'schema',
    routes: (app) => addOperations(app, { catalog, documents: new WeakMap() }, [getSchema]),
  }
}
