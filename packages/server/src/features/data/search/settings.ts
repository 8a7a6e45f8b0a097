import type { Relation } from '../../../database/catalog/model.ts'
import { isSearchable, type SearchSettings, type SearchWeight } from '../collections/index.ts'
import { searchErrors } from './errors.ts'

/** What `PUT …/search-settings` was sent. */
export interface GivenSettings {
  readonly attributes?: readonly { readonly column?: string; readonly weight?: string }[] | undefined
  readonly customRanking?: readonly { readonly column?: string; readonly order?: string }[] | undefined
}

type Attributes = SearchSettings['attributes']
type CustomRanking = SearchSettings['customRanking']

const mostColumns = 32
const weights: readonly string[] = ['high', 'medium', 'low', 'lowest'] satisfies SearchWeight[]

/** @throws AppError invalid_search_settings */
export function readSettings(
  relation: Relation,
  { attributes = [], customRanking = [] }: GivenSettings,
): Pick<SearchSettings, 'attributes' | 'customRanking'> {
  return {
    attributes: readAttributes(relation, attributes),
    customRanking: readCustomRanking(relation, customRanking),
  }
}

function readAttributes(
  { column: columns, collection }: Relation,
  given: NonNullable<GivenSettings['attributes']>,
): Attributes {
  if (given.length > mostColumns)
    throw invalid(`search settings may include at most ${mostColumns} attributes`)
  const known = new Set<string>()
  return given.map(({ column: name = '', weight = '' }) => {
    if (name === '') throw invalid('search setting attribute column is required')
    if (known.has(name)) throw invalid(`duplicate search setting attribute column: ${name}`)
    known.add(name)
    if (!isWeight(weight)) throw invalid(`unknown search setting attribute weight: ${weight}`)
    const column = columns.get(name)
    if (column === undefined || !isSearchable(column)) {
      throw invalid(
        `search setting attribute column "${name}" is not a searchable text column on table "${collection}"`,
      )
    }
    return { column: name, weight }
  })
}

function readCustomRanking(
  { column: columns, collection }: Relation,
  given: NonNullable<GivenSettings['customRanking']>,
): CustomRanking {
  if (given.length > mostColumns) {
    throw invalid(`search settings may include at most ${mostColumns} custom ranking columns`)
  }
  const known = new Set<string>()
  return given.map(({ column: name = '', order = '' }) => {
    if (name === '') throw invalid('search setting custom ranking column is required')
    if (known.has(name)) throw invalid(`duplicate search setting custom ranking column: ${name}`)
    known.add(name)
    if (order !== 'asc' && order !== 'desc') {
      throw invalid(`unknown search setting custom ranking order: ${order}`)
    }
    const column = columns.get(name)
    if (column === undefined) {
      throw invalid(`search setting custom ranking column "${name}" was not found on table "${collection}"`)
    }
    // Documents have an order of their own in PostgreSQL, which says nothing of how well they fit.
    if (!column.type.hasOrder || ['json', 'jsonb'].includes(column.type.base)) {
      throw invalid(`search setting custom ranking column "${name}" is not rankable on table "${collection}"`)
    }
    return { column: name, order }
  })
}

function isWeight(text: string): text is SearchWeight {
  return weights.includes(text)
}

function invalid(problem: string): Error {
  return searchErrors.invalidSearchSettings(problem)
}
