import type { Catalog } from '../../../database/catalog/model.ts'
import { geoJsonSchema } from './column-schema.ts'
import { nameComponents } from './component-names.ts'
import { type Audience, type DescribedTable, describeTable, mayRead } from './described-table.ts'
import { type Entry, json, optional, reference } from './document-parts.ts'
import { sharedParameters, sharedSchemas } from './shared-components.ts'
import * as operations from './table-operations.ts'
import { schemasOf } from './table-schemas.ts'

/** Parts of the document beside the routes that every server has. */
export interface TablePaths {
  readonly tags: readonly object[]
  readonly paths: Readonly<Record<string, object>>
  readonly components: Readonly<Record<'schemas' | 'parameters' | 'responses', object>>
  /** Collections that are served and not described: there are too many. */
  readonly omitted: number
}

/** More make a document of several megabytes that no tool reads any more. */
const relationLimit = 1000

/** Describes the collections an audience may use as OpenAPI 3.1. Pure. */
export function describeTables(catalog: Catalog, audience: Audience): TablePaths {
  const served = [...catalog.relations.values()].filter((each) => mayRead(each, audience))
  const relations = served.slice(0, relationLimit)
  const names = nameComponents(relations.map(({ collection }) => collection))
  const tables = relations.map((relation) => describeTable(catalog, relation, audience, names))
  return {
    tags: tables.map(tagOf),
    paths: Object.fromEntries(tables.flatMap(pathsOf)),
    components: {
      schemas: {
        ...sharedSchemas,
        ...(catalog.extensions.has('postgis') ? { GeoJSON: geoJsonSchema } : {}),
        ...Object.fromEntries(tables.flatMap(schemasOf)),
      },
      parameters: sharedParameters,
      responses: {
        Error: { description: 'An error.', content: json(reference('Error')) },
      },
    },
    omitted: served.length - relations.length,
  }
}

function tagOf({ label, relation: { comment } }: DescribedTable): object {
  return { name: label, ...optional('description', comment) }
}

function pathsOf(table: DescribedTable): Entry[] {
  const { relation, hasKey, can } = table
  const path = `/api/collections/${encodeURIComponent(relation.collection)}`
  const paths: Entry[] = [
    [
      path,
      {
        get: operations.list(table),
        ...(can.create ? { post: operations.create(table) } : {}),
        ...(can.updateAll ? { patch: operations.updateAll(table) } : {}),
        ...(can.deleteAll ? { delete: operations.deleteAll(table) } : {}),
      },
    ],
  ]
  if (hasKey) {
    paths.push([
      `${path}/{id}`,
      {
        parameters: [operations.idParameter(relation)],
        get: operations.get(table),
        ...(can.update ? { patch: operations.update(table) } : {}),
        ...(can.delete ? { delete: operations.remove(table) } : {}),
      },
    ])
  }
  if (can.create || can.update || can.delete) paths.push([`${path}/batch`, { post: operations.batch(table) }])
  return paths
}
