import type { ColumnType, Parameter } from '../../../database/catalog/model.ts'
import { databaseErrors } from '../../../database/errors/errors.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { requireJson } from '../../../http/requests/body.ts'
import { parseQuery } from '../../../http/requests/query-string.ts'
import { isObject, parseJson } from '../../../lib/json.ts'
import { suggestion } from '../../../lib/suggestion.ts'
import { procedureErrors } from './errors.ts'

/** Parameters of a list, which functions that return a set take, too. */
const listParameters: readonly string[] = [
  ...['filter', 'sort', 'fields', 'expand', 'page', 'perPage', 'cursor', 'total', 'skipTotal'],
]

export interface SplitQuery {
  /** Texts by name of the parameter, in the order in which they were sent. */
  readonly given: ReadonlyMap<string, readonly string[]>
  /** The parameters of a list as sent; empty without any. */
  readonly list: string
  /** The first of them. */
  readonly firstListParameter: string | undefined
}

/**
 * Tells arguments from parameters of a list. A parameter of the function comes first.
 *
 * @param known parameters of the function; none where arguments come in the body
 * @throws AppError unknown_argument, unknown_parameter
 */
export function splitQuery(procedure: string, queryString: string, known: readonly string[]): SplitQuery {
  const given = new Map<string, string[]>()
  const list: { readonly name: string; readonly piece: string }[] = []
  for (const piece of queryString.split('&')) {
    const [[name, value] = []] = Object.entries(parseQuery(piece))
    if (name === undefined) continue
    if (known.includes(name)) {
      given.set(name, [...(given.get(name) ?? []), String(value)])
    } else if (listParameters.includes(name)) {
      list.push({ name, piece })
    } else if (!name.startsWith('_')) {
      const nearest = suggestion(name, [...known, ...listParameters])
      throw known.length === 0
        ? httpErrors.unknownParameter(name, nearest)
        : procedureErrors.unknownArgument(name, procedure, nearest)
    }
  }
  return {
    given,
    list: list.map(({ piece }) => piece).join('&'),
    firstListParameter: list[0]?.name,
  }
}

/** The arguments of a body. */
export interface BodyArguments {
  readonly json: string
  /** Undefined where the body is no object. */
  readonly members: Readonly<Record<string, unknown>> | undefined
}

/** @throws AppError invalid_json */
export function parseBody(text: string): BodyArguments {
  if (text.trim() === '') return { json: '{}', members: {} }
  const value = requireJson(text)
  return { json: text, members: isObject(value) ? value : undefined }
}

/**
 * The arguments of a query string as a body would have them: a text is read by the type of its parameter, except where
 * that is made of JSON.
 *
 * @throws AppError argument_given_twice, invalid_value
 */
export function writeBody(passed: readonly Parameter[], given: SplitQuery['given']): string {
  const members = passed.map((parameter) => {
    const texts = given.get(parameter.name) ?? []
    return `${JSON.stringify(parameter.name)}:${writeArgument(parameter, texts)}`
  })
  return `{${members.join(',')}}`
}

function writeArgument({ name, type }: Parameter, texts: readonly string[]): string {
  const [text = '', ...others] = texts
  if (others.length === 0) return writeValue(name, type, text)
  const { element } = type
  if (element === undefined) throw procedureErrors.argumentGivenTwice(name)
  return `[${texts.map((each) => writeValue(name, element, each)).join(',')}]`
}

function writeValue(name: string, type: ColumnType, text: string): string {
  const isJson = type.base === 'json' || type.base === 'jsonb'
  const mayBeJson =
    (type.element !== undefined && text.startsWith('[')) ||
    ((type.attributes !== undefined || type.spatialSchema !== undefined) && text.startsWith('{'))
  if (!isJson && !mayBeJson) return JSON.stringify(text)
  if (parseJson(text) === undefined) {
    throw databaseErrors.invalidValue(`${name}: expected valid JSON, e.g. {"key": "value"}`)
  }
  return text
}
