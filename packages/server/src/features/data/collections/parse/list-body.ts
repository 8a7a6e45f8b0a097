import { stringify } from 'node:querystring'
import { requireJson } from '../../../../http/requests/body.ts'
import { isObject } from '../../../../lib/json.ts'
import { sliceArray, sliceObject } from '../../../../lib/json-slices.ts'
import { collectionErrors } from '../errors.ts'
import { facetParameters } from './facets.ts'
import { quoteName } from './names.ts'
import { spatialParameters } from './spatial.ts'

/** Parameters whose array elements are names, which may hold any character. */
const nameLists: readonly string[] = ['fields', 'group', ...facetParameters]
/** Parameters whose array elements are written as in a URL. */
const termLists: readonly string[] = ['expand', 'sort', 'aggregate', 'groupSort']
/** Parameters whose arrays begin with a column. */
const columnLists: readonly string[] = spatialParameters

/**
 * Converts the parameters of a list from a JSON object to the equivalent query string. Members are texts as in a URL,
 * or numbers, booleans and arrays. Numbers keep their digits as written.
 *
 * @throws AppError invalid_json, invalid_parameter naming the parameter and what was expected
 */
export function parseListBody(json: string): string {
  if (json.trim() === '') return ''
  const value = requireJson(json)
  if (!isObject(value)) {
    throw collectionErrors.invalidParameter('expected an object with the parameters of a list')
  }
  const texts = sliceObject(json)
  const parameters = Object.entries(value)
    .filter(([name]) => !name.startsWith('_'))
    .map(([name, member]) => [name, writeParameter(name, member, texts.get(name) ?? '')] as const)
  // A lone surrogate has no encoding in a URL.
  return stringify(
    Object.fromEntries(parameters.map(([name, text]) => [name.toWellFormed(), text.toWellFormed()])),
  )
}

/**
 * Converts the parameters of an aggregate, as {@link parseListBody} does those of a list.
 *
 * @throws AppError invalid_aggregate without functions
 */
export function parseAggregateBody(json: string): string {
  const query = parseListBody(json)
  if (/(?:^|&)aggregate=/.test(query)) return query
  throw collectionErrors.invalidAggregate('expected functions such as count or sum(column)')
}

function writeParameter(name: string, value: unknown, text: string): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return text
  if (!Array.isArray(value)) {
    throw collectionErrors.invalidParameter(`${name}: expected a string, a number, a boolean or an array`)
  }
  if (name === 'nearest') return text
  if (nameLists.includes(name)) return textsOf(name, value).map(quoteName).join()
  if (termLists.includes(name)) return textsOf(name, value).join()
  if (columnLists.includes(name)) {
    const [column] = value
    if (typeof column !== 'string')
      throw collectionErrors.invalidParameter(`${name}: expected a column first`)
    return [quoteName(column), ...sliceArray(text).slice(1)].join()
  }
  throw collectionErrors.invalidParameter(`${name}: expected a string, a number or a boolean`)
}

function textsOf(name: string, values: readonly unknown[]): string[] {
  return values.map((value) => {
    if (typeof value === 'string') return value
    throw collectionErrors.invalidParameter(`${name}: expected an array of strings`)
  })
}
