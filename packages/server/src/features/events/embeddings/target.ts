import type { Catalog, Column, Relation } from '../../../database/catalog/model.ts'
import { vectorDimensions } from '../../../database/catalog/vectors.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Embedder, Embedders } from '../../data/embedding-provider/index.ts'

/** Configuration of one vector column. */
export interface EmbeddingSettings {
  readonly table: string
  readonly columns: readonly string[]
  readonly vector_column: string
  readonly model?: string
  readonly template?: string
}

/** Settings of an embedding, resolved against the database. */
export interface EmbeddingTarget {
  readonly relation: Relation
  readonly sources: readonly Column[]
  readonly vector: Column
  /** Number of dimensions; undefined if the column accepts any number. */
  readonly dimensions: number | undefined
  readonly embedder: Embedder
  readonly template: string | undefined
}

/** Resolves the settings against the database. Returns the problem if they do not fit. */
export function findTarget(
  { relations }: Catalog,
  embedders: Embedders,
  settings: EmbeddingSettings,
): EmbeddingTarget | { readonly problem: string } {
  const { table, vector_column: vectorName, columns, model, template } = settings
  const embedder = embedders.find(model)
  if (embedder === undefined) return { problem: 'no model: ai.providers lacks its provider, address or name' }
  const relation = relations.get(table)
  if (relation === undefined) return { problem: `table "${table}" not found` }
  if (relation.kind !== 'table' && relation.kind !== 'partitioned_table') {
    return { problem: `"${table}" is not a table` }
  }
  if (relation.primaryKey.length === 0) return { problem: `table "${table}" has no primary key` }
  const missing = [...columns, vectorName].find((name) => !relation.column.has(name))
  if (missing !== undefined) return { problem: `column "${missing}" not found in table "${table}"` }
  const found = (name: string) => relation.columns.filter((column) => column.name === name)
  const [vector] = found(vectorName)
  if (vector === undefined || !holdsVectors(vector)) {
    return { problem: `column "${vectorName}" is not a vector column (type: ${vector?.typeName})` }
  }
  const stray = namesIn(template ?? '').find((name) => !columns.includes(name))
  if (stray !== undefined) return { problem: `template: "{${stray}}" is not one of the columns` }
  return {
    relation,
    sources: columns.flatMap(found),
    vector,
    dimensions: vectorDimensions(vector),
    embedder,
    template,
  }
}

/** Returns true if the column can hold vectors. Without pgvector, a JSON column can hold them. */
function holdsVectors({ type }: Column): boolean {
  return type.vectorSchema !== undefined || type.base === 'jsonb'
}

const placeholder = /\{([^{}]+)\}/g

function namesIn(template: string): string[] {
  return [...template.matchAll(placeholder)].map(([, name = '']) => name)
}

/** Compiles the text of row `t` that is embedded: NULL if it has only blanks. */
export function compileInput({ sources, template }: EmbeddingTarget): Sql {
  const texts = sources.map(({ name }) => sql`nullif(btrim(${sql.id('t', name)}::text, E' \\t\\r\\n'), '')`)
  if (template === undefined) return sql`nullif(concat_ws(E'\\n', ${sql.join(texts)}), '')`
  const parts = template.split(placeholder).map((part, index) => {
    const isName = index % 2 === 1
    return isName ? sql`${sql.id('t', part)}::text` : sql.literal(part)
  })
  return sql`case when coalesce(${sql.join(texts)}) is not null then concat(${sql.join(parts)}) end`
}

/** Compiles the comparison of row `t` with a key, a JSON array as in the log of changes. */
export function compileKeyMatch({ relation }: EmbeddingTarget, key: Sql): Sql {
  const pairs = relation.primaryKey.map(
    ({ name, type }, index) =>
      sql`${sql.id('t', name)} = (${key}::json ->> ${sql.integer(index)})::${sql.type(type.name)}`,
  )
  return sql.join(pairs, sql` and `)
}

/** Compiles the key of row `t`, a JSON array as in the log of changes. */
export function compileKey({ relation }: EmbeddingTarget): Sql {
  return sql`json_build_array(${sql.join(relation.primaryKey.map(({ name }) => sql.id('t', name)))})::text`
}

/** Returns the recipe of the vectors. Vectors of different recipes cannot be compared. */
export function recipeOf(settings: EmbeddingSettings, embedders: Embedders): string {
  const model = embedders.find(settings.model)?.model
  const { columns, vector_column: vector, template } = settings
  return JSON.stringify([columns, vector, template, model?.provider, model?.name, model?.dimensions])
}

/** Formats a vector as a literal of the column type. */
export function formatVectorFor({ vector }: EmbeddingTarget, values: readonly number[]): string {
  if (vector.type.base !== 'sparsevec') return `[${values.join()}]`
  const entries = values.flatMap((value, index) => (value === 0 ? [] : [`${index + 1}:${value}`]))
  return `{${entries.join()}}/${values.length}`
}
