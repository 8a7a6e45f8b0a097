import { httpErrors } from '../../../../http/errors/errors.ts'
import { parseQuery } from '../../../../http/requests/query-string.ts'
import { suggestion } from '../../../../lib/suggestion.ts'
import { collectionErrors } from '../errors.ts'

/**
 * Names that PostgREST, PocketBase and search engines use. The nearest parameter by its letters would be the wrong
 * suggestion.
 */
const namesElsewhere: ReadonlyMap<string, string> = new Map([
  ['limit', 'perPage'],
  ['pageSize', 'perPage'],
  ['offset', 'page'],
  ['select', 'fields'],
  ['columns', 'fields'],
  ['order', 'sort'],
  ['orderBy', 'sort'],
  ['where', 'filter'],
  ['q', 'search'],
  ['query', 'search'],
  ['include', 'expand'],
])

/** Parameters by name, decoded. */
export type Parameters = Readonly<Record<string, string | undefined>>

/**
 * Parses a query string whose parameters are `known`. Names that begin with `_` are ignored.
 *
 * @throws AppError unknown_parameter with the nearest name, invalid_parameter when one is given twice
 */
export function readParameters(queryString: string, known: readonly string[]): Parameters {
  const parameters = parseQuery(queryString)
  for (const [name, value] of Object.entries(parameters)) {
    if (!known.includes(name) && !name.startsWith('_')) {
      throw httpErrors.unknownParameter(name, suggestParameter(name, known))
    }
    if (Array.isArray(value))
      throw collectionErrors.invalidParameter(`parameter "${name}" is given more than once`)
  }
  // Arrays were rejected above.
  return parameters as Parameters
}

/** @throws AppError invalid_parameter */
export function parseFlag(name: string, text = 'false'): boolean {
  if (text !== 'true' && text !== 'false') {
    throw collectionErrors.invalidParameter(`${name} parameter must be a boolean`)
  }
  return text === 'true'
}

/** @throws AppError invalid_parameter */
export function parseInteger(name: string, text: string): number {
  if (!/^[+-]?\d+$/.test(text.trim())) throw collectionErrors.invalidParameter(`${name}: expected an integer`)
  return Number(text)
}

function suggestParameter(name: string, known: readonly string[]): string {
  const meant = namesElsewhere.get(name)
  return suggestion(meant !== undefined && known.includes(meant) ? meant : name, known)
}
