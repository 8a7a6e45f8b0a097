import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Catalog } from '../../../database/catalog/model.ts'
import { identityOf } from '../../../http/access/authentication.ts'
import { asText, ok, operation } from '../../../http/operation.ts'
import type { Viewer } from './column.ts'
import { describeCatalog, SchemaDocument } from './document.ts'

export interface SchemaDeps {
  readonly catalog: LiveCatalog
  /** Documents of a snapshot as JSON, each of which is made once. */
  readonly documents: WeakMap<Catalog, Map<Viewer, string>>
}

export const getSchema = operation({
  guard: 'data',
  programs: 'read',
  permission: 'structure.read',
  id: 'schema.get',
  method: 'GET',
  path: '/api/schema',
  tag: 'schema',
  summary: 'Get the tables, columns and relations that the caller may use',
  success: asText(ok(SchemaDocument)),
  async handle({ catalog, documents }: SchemaDeps, { http }) {
    await catalog.refresh()
    const { current } = catalog
    const identity = identityOf(http)
    const tables = identity.kind === 'user' ? identity.scope.grant?.tables : undefined
    if (tables !== undefined) return JSON.stringify(describeCatalog(current, 'caller', tables))
    const viewer: Viewer = identity.scope.kind === 'unrestricted' ? 'administrator' : 'caller'
    const byViewer = documents.get(current) ?? new Map<Viewer, string>()
    documents.set(current, byViewer)
    const document = byViewer.get(viewer) ?? JSON.stringify(describeCatalog(current, viewer))
    byViewer.set(viewer, document)
    return document
  },
})
