import type { Catalog } from '../../../database/catalog/model.ts'
import { geoJsonSchema } from './column-schema.ts'
import { nameComponents } from './component-names.ts'
import { type Audience, type DescribedTable, describeTable, isReadable } from './described-table.ts'
import { type Entry, optional, type StaticDocument } from './document-parts.ts'
import { pathsOf } from './table-operations.ts'
import { schemasOf } from './table-schemas.ts'

/** Maximum number of described relations. More would make a document of several megabytes, which tools cannot read. */
const relationLimit = 1000

const geoJson: Entry = ['GeoJSON', geoJsonSchema]

/** Returns the document with the collections that an audience may use. This function is pure. */
export function describeTables(
  document: StaticDocument,
  catalog: Catalog,
  audience: Audience,
): StaticDocument {
  const served = [...catalog.relations.values()].filter((each) => isReadable(each, audience))
  const relations = served.slice(0, relationLimit)
  const names = nameComponents(
    relations.map(({ collection }) => collection),
    [geoJson[0], ...reservedNames(document)],
  )
  const tables = relations.map((relation) => describeTable(catalog, relation, audience, names))
  const omitted = served.length - relations.length
  const note = ` ${omitted} more collections are served and not described here; \`GET /api/schema\` has all of them.`
  const { info, tags, paths, components } = document
  const schemas = [
    ...tables.flatMap((table) => schemasOf(document, table)),
    ...(catalog.extensions.has('postgis') ? [geoJson] : []),
  ]
  // Their members are operations, which the static document also has.
  const pathsOfTables = Object.fromEntries(
    tables.flatMap((table) => pathsOf(document, table)),
  ) as StaticDocument['paths']
  return {
    ...document,
    info: { ...info, description: `${info.description ?? ''}${omitted === 0 ? '' : note}` },
    tags: [...tables.map(tagOf), ...tags],
    paths: { ...pathsOfTables, ...paths },
    components: {
      ...components,
      schemas: { ...components.schemas, ...(Object.fromEntries(schemas) as typeof components.schemas) },
    },
  }
}

/** Returns the names of components, and the first parts of operation ids. */
function reservedNames({ components, paths }: StaticDocument): string[] {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  return [
    ...Object.keys(components.schemas),
    ...operations.map(({ operationId }) => operationId.split('.', 1)[0] ?? ''),
  ]
}

function tagOf({ label, relation: { comment } }: DescribedTable): object {
  return { name: label, ...optional('description', comment) }
}
