import type { Relation } from '../../../database/catalog/model.ts'
import { checkedByHandler, component, requiredByHandler } from '../../../http/schemas.ts'
import { type Static, Type } from '../../../lib/type.ts'
import {
  isSearchable,
  type SearchWeight,
  type SearchSettings as StoredSettings,
} from '../collections/index.ts'
import { searchErrors } from './errors.ts'

const weights = ['high', 'medium', 'low', 'lowest'] as const satisfies readonly SearchWeight[]
const orders = ['asc', 'desc'] as const

/** Weights and ranking of a search. */
export const SearchSettings = component(
  'SearchSettings',
  Type.Object({
    attributes: Type.Array(Type.Object({ column: Type.String(), weight: Type.Enum(weights) })),
    customRanking: Type.Array(Type.Object({ column: Type.String(), order: Type.Enum(orders) })),
    ignoreAccents: Type.Boolean({ description: 'True if `apfel` also finds Äpfel.' }),
  }),
)

const column = requiredByHandler(Type.String())

/** Weights and ranking to store. The handler validates them, for messages that name columns. */
export const SearchSettingsInput = component(
  'SearchSettingsInput',
  Type.Object({
    attributes: Type.Optional(
      Type.Array(
        Type.Object({
          column,
          weight: requiredByHandler(checkedByHandler({ enum: weights }, Type.String())),
        }),
        { description: 'At most 32. Text columns that are not named have the lowest weight.' },
      ),
    ),
    customRanking: Type.Optional(
      Type.Array(
        Type.Object({
          column,
          order: requiredByHandler(checkedByHandler({ enum: orders }, Type.String())),
        }),
        { description: 'At most 32 columns that sort records of the same rank.' },
      ),
    ),
    ignoreAccents: Type.Optional(
      Type.Boolean({ description: 'True if `apfel` also finds Äpfel. Without a value, it stays as it is.' }),
    ),
  }),
)
type SearchSettingsInput = Static<typeof SearchSettingsInput>

type Attributes = StoredSettings['attributes']
type CustomRanking = StoredSettings['customRanking']

const mostColumns = 32

/** @throws AppError invalid_search_settings */
export function readSettings(
  relation: Relation,
  { attributes = [], customRanking = [], ignoreAccents }: SearchSettingsInput,
): Pick<StoredSettings, 'attributes' | 'customRanking'> & { ignoresAccents: boolean | undefined } {
  if (ignoreAccents === true) requireAccents(relation)
  return {
    attributes: readAttributes(relation, attributes),
    customRanking: readCustomRanking(relation, customRanking),
    ignoresAccents: ignoreAccents,
  }
}

/** @throws AppError invalid_search_settings where accents cannot be ignored */
export function requireAccents({ isOnWorkers, collection }: Relation): void {
  if (!isOnWorkers) return
  throw invalid(`ignoreAccents cannot be true for table "${collection}", which Citus stores on its workers`)
}

function readAttributes(
  { column: columns, collection }: Relation,
  input: NonNullable<SearchSettingsInput['attributes']>,
): Attributes {
  if (input.length > mostColumns)
    throw invalid(`search settings may include at most ${mostColumns} attributes`)
  const known = new Set<string>()
  return input.map(({ column: name = '', weight = '' }) => {
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
  input: NonNullable<SearchSettingsInput['customRanking']>,
): CustomRanking {
  if (input.length > mostColumns) {
    throw invalid(`search settings may include at most ${mostColumns} custom ranking columns`)
  }
  const known = new Set<string>()
  return input.map(({ column: name = '', order = '' }) => {
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
    // Documents have an order of their own in PostgreSQL, which is no measure of relevance.
    if (!column.type.hasOrder || ['json', 'jsonb'].includes(column.type.base)) {
      throw invalid(`search setting custom ranking column "${name}" is not rankable on table "${collection}"`)
    }
    return { column: name, order }
  })
}

function isWeight(text: string): text is SearchWeight {
  return (weights as readonly string[]).includes(text)
}

function invalid(problem: string): Error {
  return searchErrors.invalidSearchSettings(problem)
}
