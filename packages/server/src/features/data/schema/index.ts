import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Catalog } from '../../../database/catalog/model.ts'
import type { Feature } from '../../../feature.ts'
import { identityOf } from '../../../http/access/authentication.ts'
import { bearerSecurity, component, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { Viewer } from './column.ts'
import { describeCatalog } from './document.ts'

export { describeColumn } from './column.ts'
export { describeCatalog, type SchemaDocument } from './document.ts'
export { createSchemaLog } from './schema-changes.ts'

const anyObject = Type.Object({}, { additionalProperties: true })

const schemaDocument = component(
  'Schema',
  Type.Object({
    tables: Type.Object({}, { additionalProperties: anyObject, description: 'By `schema.table`.' }),
    functions: Type.Object({}, { additionalProperties: anyObject, description: 'By `schema.function`.' }),
    schemas: Type.Array(Type.String()),
    hasPostGIS: Type.Boolean(),
    postGISVersion: Type.Optional(Type.String()),
    hasPostGISRaster: Type.Boolean(),
    postGISRasterVersion: Type.Optional(Type.String()),
    postGISExtensions: Type.Optional(Type.Array(Type.String())),
    hasPgVector: Type.Boolean(),
    hasPgTrgm: Type.Boolean(),
    builtAt: Type.String(),
  }),
)

/** `GET /api/schema`: tables, columns and relations, as far as the caller may use them. */
export function schema(catalog: LiveCatalog): Feature {
  const documents = new WeakMap<Catalog, Map<Viewer, string>>()
  return {
    name: 'schema',
    routes(app) {
      app.get(
        '/api/schema',
        {
          config: { guard: 'data', programs: 'read', operation: 'schema.get' },
          schema: {
            tags: ['schema'],
            summary: 'Tables, columns and relations the caller may use',
            security: bearerSecurity,
            response: responses({ 200: schemaDocument }),
          },
        },
        async (request, reply) => {
          await catalog.refresh()
          const identity = identityOf(request)
          const json = 'application/json; charset=utf-8'
          // Its JSON, which is made once.
          const send = (document: string) => reply.type(json).send(document as never)
          const tables = identity.kind === 'user' ? identity.scope.grant?.tables : undefined
          if (tables !== undefined)
            return send(JSON.stringify(describeCatalog(catalog.current, 'caller', tables)))
          const viewer: Viewer = identity.scope.kind === 'unrestricted' ? 'administrator' : 'caller'
          const byViewer = documents.get(catalog.current) ?? new Map<Viewer, string>()
          documents.set(catalog.current, byViewer)
          const document = byViewer.get(viewer) ?? JSON.stringify(describeCatalog(catalog.current, viewer))
          byViewer.set(viewer, document)
          return send(document)
        },
      )
    },
  }
}
