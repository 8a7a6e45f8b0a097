import { arrayLiteral } from '../../../../database/array-literal.ts'
import type { Column } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { SearchPlan } from '../plan/search.ts'
import { type SearchVector, searchedColumns } from '../plan/search-vector.ts'
import { compileRegclass, compileTids, type LookupChunk } from './look-up.ts'

/**
 * Number of characters of a record that are searched and highlighted. PostgreSQL rejects a vector of more than a
 * megabyte, which would fail the search, and with an index also the write. This many characters stay below the limit,
 * whatever they are.
 */
export const searchedCharacters = sql.integer(100_000)

/** Compiles the tsquery of a search. It is evaluated once per statement, wherever it is used. */
export function compileQuery({ vector, term, synonyms }: SearchPlan): Sql {
  const config = compileConfig(vector)
  const words = compileFolded(vector, sql`${term}`)
  if (synonyms.length === 0) return sql`(select websearch_to_tsquery(${config}, ${words}))`
  // Quotes, brackets and backslashes have no accents.
  const groups = compileFolded(vector, sql`${JSON.stringify(synonyms)}`)
  return sql`(select basalt.search_query(${config}, ${words}, ${groups}::jsonb))`
}

/** Compiles the text as it is compared, without accents if the search ignores them. */
export function compileFolded({ ignoresAccents }: Pick<SearchVector, 'ignoresAccents'>, text: Sql): Sql {
  return ignoresAccents ? sql`basalt.without_accents(${text})` : text
}

/** Compiles the condition that a row of `alias` matches. */
export function compileMatch(search: SearchPlan, alias: string): Sql {
  const { fuzzy, vector } = search
  const isMatch = sql`${compileVector(vector, alias)} @@ ${compileQuery(search)}`
  return fuzzy === undefined ? isMatch : sql`(${isMatch} or ${compileSimilar({ ...search, fuzzy }, alias)})`
}

/** Returns whether all rows of {@link compileSearchLookUp} match. */
export function isProvedByLookUp({ candidates, fuzzy }: SearchPlan): boolean {
  return candidates?.isExact === true && fuzzy === undefined
}

/** Compiles a query for the distinct tuple identifiers of the rows that the indexes find. */
export function compileSearchLookUp(search: SearchPlan, chunk?: LookupChunk): Sql | undefined {
  const { candidates, fuzzy, vector } = search
  if (candidates === undefined) return undefined
  const { schema, vectorIndex, trigramIndex, isExact } = candidates
  const part =
    chunk === undefined
      ? sql.empty
      : sql`, ${sql.integer(chunk.skipped)}, ${chunk.most === undefined ? sql`null` : sql.integer(chunk.most)}`
  const found = sql`basalt.search_rows(${compileRegclass({ schema, name: vectorIndex })}, ${compileQuery(search)}${part})`
  if (trigramIndex === undefined || fuzzy === undefined) return compileTids(found, isExact)
  const similar = sql`basalt.similar_rows(${compileRegclass({ schema, name: trigramIndex })}, ${compileFolded(vector, sql`${fuzzy.words.join(' ')}`)}, ${String(fuzzy.threshold)}::real)`
  return compileTids(sql`${found} || ${similar}`, false)
}

/** Compiles the rank of a row of `alias` as a real; higher is better. */
export function compileRank(search: SearchPlan, alias: string): Sql {
  const { vector, fuzzy } = search
  const isWeighted = vector.parts.some(({ label }) => label !== undefined)
  // Columns of different weights are ranked by cover density, a single text by frequency.
  const rank = isWeighted ? sql`ts_rank_cd` : sql`ts_rank`
  const byWords = sql`${rank}(${compileVector(vector, alias)}, ${compileQuery(search)})`
  if (fuzzy === undefined) return byWords
  const similarities = searchedColumns(vector).map((column) =>
    compileSimilarity({ ...search, fuzzy }, column, alias),
  )
  return sql`greatest(${sql.join([byWords, ...similarities])})`
}

/**
 * Compiles the searched text vector of a row of `alias`, or without one the indexed expression. Both are the same
 * expression, by which the planner recognizes the index.
 */
export function compileVector(vector: SearchVector, alias?: string): Sql {
  const config = compileConfig(vector)
  return sql.join(
    vector.parts.map(({ label, columns }) => {
      const part = sql`to_tsvector(${config}, ${compileFolded(vector, compileDocument(columns, alias))})`
      return label === undefined ? part : sql`setweight(${part}, ${sql.literal(label)})`
    }),
    sql` || `,
  )
}

/** Compiles the columns as one text, with blanks between them. */
export function compileDocument(columns: readonly Column[], alias?: string): Sql {
  return sql`left(${sql.join(
    columns.map((column) => compileText(column, alias)),
    sql` || ' ' || `,
  )}, ${searchedCharacters})`
}

/** Compiles the columns one by one, as a trigram index has them. */
export function compileTrigramKeys(vector: SearchVector): readonly Sql[] {
  return searchedColumns(vector).map((column) => sql`(${compileFolded(vector, compileDocument([column]))})`)
}

export function compileConfig({ config }: SearchVector): Sql {
  return sql`${sql.literal(config)}::regconfig`
}

function compileText({ name }: Column, alias?: string): Sql {
  const column = alias === undefined ? sql.id(name) : sql.id(alias, name)
  return sql`coalesce(${column}::text, '')`
}

type FuzzyPlan = SearchPlan & { readonly fuzzy: NonNullable<SearchPlan['fuzzy']> }

/**
 * Compiles the fuzzy condition. The whole term is similar to a column, or each of its words to a word, and no
 * excluded word occurs.
 */
function compileSimilar(search: FuzzyPlan, alias: string): Sql {
  const { vector, fuzzy } = search
  if (fuzzy.words.length === 0) return sql`false`
  const columns = searchedColumns(vector)
  const isSimilar = sql`greatest(${sql.join(columns.map((column) => compileSimilarity(search, column, alias)))}) > ${String(fuzzy.threshold)}::real`
  const likenesses = columns.map(
    (column) =>
      sql`${sql.id(fuzzy.trigramSchema, 'strict_word_similarity')}(fuzzy.word, ${compileFolded(vector, compileDocument([column], alias))})`,
  )
  const hasWords = sql`(
    select bool_and(greatest(${sql.join(likenesses)}) >= ${String(fuzzy.threshold)}::real)
    from unnest(${compileFolded(vector, sql`${arrayLiteral(fuzzy.words)}`)}::text[]) fuzzy (word))`
  const isExcluded = sql`${compileVector(vector, alias)} @@ (select websearch_to_tsquery(${compileConfig(vector)}, ${compileFolded(vector, sql`${fuzzy.excluded}`)}))`
  return fuzzy.excluded === ''
    ? sql`(${isSimilar} and ${hasWords})`
    : sql`(${isSimilar} and ${hasWords} and not ${isExcluded})`
}

function compileSimilarity({ fuzzy, vector }: FuzzyPlan, column: Column, alias: string): Sql {
  const document = compileFolded(vector, compileDocument([column], alias))
  const words = compileFolded(vector, sql`${fuzzy.words.join(' ')}`)
  return sql`${sql.id(fuzzy.trigramSchema, 'similarity')}(${document}, ${words})`
}
