import type { ColumnType, Parameter } from '../../../database/catalog/model.ts'
import { databaseErrors } from '../../../database/errors/errors.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { requireJson } from '../../../http/requests/body.ts'
import { parseQuery } from '../../../http/requests/query-string.ts'
import { isObject, parseJson } from '../../../lib/json.ts'
import { suggestion } from '../../../lib/suggestion.ts'
import { procedureErrors } from './errors.ts'

/** Parameters of a list that functions returning a set also accept. */
const listParameters: readonly string[] = [
  ...['filter', 'sort', 'fields', 'expand', 'page', 'perPage', 'cursor', 'total', 'skipTotal'],
]

export interface SplitQuery {
  /** Texts by parameter name, in the order in which they were sent. */
  readonly values: ReadonlyMap<string, readonly string[]>
  /** Query string of the list parameters; empty without any. */
  readonly list: string
  /** Name of the first list parameter. */
  readonly firstListParameter: string | undefined
}

/**
 * Separates arguments from parameters of a list. A parameter of the function takes precedence.
 *
 * @param known parameters of the function; none where arguments are in the body
 * @throws AppError unknown_argument, unknown_parameter
 */
export function splitQuery(procedure: string, queryString: string, known: readonly string[]): SplitQuery {
  const values = new Map<string, string[]>()
  const list: { readonly name: string; readonly piece: string }[] = []
  for (const piece of queryString.split('&')) {
    const [[name, value] = []] = Object.entries(parseQuery(piece))
    if (name === undefined) continue
    if (known.includes(name)) {
      values.set(name, [...(values.get(name) ?? []), String(value)])
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
    values,
    list: list.map(({ piece }) => piece).join('&'),
    firstListParameter: list[0]?.name,
  }
}

/** Arguments of a body. */
export interface BodyArguments {
  readonly json: string
  /** Members; undefined where the body is no object. */
  readonly members: Readonly<Record<string, unknown>> | undefined
}

/** @throws AppError invalid_json */
export function parseBody(text: string): BodyArguments {
  if (text.trim() === '') return { json: '{}', members: {} }
  const value = requireJson(text)
  return { json: text, members: isObject(value) ? value : undefined }
}

/**
 * Converts the arguments of a query string to a body. A text is converted by the type of its parameter. The exception
 * is a type made of JSON.
 *
 * @throws AppError argument_given_twice, invalid_value
 */
export function writeBody(passed: readonly Parameter[], values: SplitQuery['values']): string {
  const members = passed.map((parameter) => {
    const texts = values.get(parameter.name) ?? []
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
