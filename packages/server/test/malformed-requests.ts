import { examplePath } from './routes.ts'

/** Part of an operation of the API document that is read here. */
export interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly minimum?: number
}

export interface MalformedRequest {
  readonly method: string
  readonly path: string
  /** Body, JSON or malformed JSON. */
  readonly body?: string
}

const hostileTexts = [
  ...['%00', '%FF', '-1', '9'.repeat(25), "'", '%F0%9F%98%80', '1e309', '2026-02-30', '294277-12-31', '(((('],
  ...['[]', 'NaN', 'infinity', '%25', '__proto__', '1,2', ''],
]
const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const hostileJson = [
  ...['"\\u0000"', '"\\ud800"', '1e400', '99999999999999999999', '-1', '[null]', '{"a":null}', 'null', '""'],
  ...[deep(900), deep(6000), '{"__proto__":1}', '"2026-02-30"', '[[]]', '"javascript:1"', 'true', '[""]'],
  `"${'x'.repeat(20_000)}"`,
]
const hostileBodies = ['', '{', '[]', '{"a":1,"a":2}', `{"a":${deep(6000)}}`, '"x"']

/**
 * Generates invalid requests: for each parameter of each operation one or two invalid values, and the next ones for the
 * next parameter. No operation gets all of them.
 */
export function* malformedRequests(
  operations: readonly (Operation & { readonly method: string; readonly path: string })[],
): Generator<MalformedRequest> {
  let turn = 0
  const some = function* (values: readonly string[], count: number) {
    for (let index = 0; index < count; index += 1) {
      turn += 1
      yield values[turn % values.length] ?? ''
    }
  }
  for (const { method, path, parameters = [], requestBody } of operations) {
    const schema = requestBody?.content['application/json']?.schema
    const valid = schema === undefined ? undefined : exampleOf(schema)
    const body = valid === undefined ? {} : { body: JSON.stringify(valid) }
    const declared = path.replace(/\{(\w+)\}/g, ':$1')
    for (const { name, in: place } of parameters) {
      for (const value of some(hostileTexts, place === 'path' ? 2 : 1)) {
        const target =
          place === 'path'
            ? examplePath(declared.replace(`:${name}`, () => value))
            : `${examplePath(declared)}?${name}=${value}`
        yield { method, path: target, ...body }
      }
    }
    if (schema === undefined) continue
    for (const value of some(hostileBodies, 1)) yield { method, path: examplePath(declared), body: value }
    for (const name of Object.keys(schema.properties ?? {})) {
      for (const value of some(hostileJson, 1)) {
        const { [name]: _, ...others } = valid as Readonly<Record<string, unknown>>
        const rest = JSON.stringify(others).slice(1, -1)
        const members = `${rest}${rest === '' ? '' : ','}${JSON.stringify(name)}:${value}`
        yield { method, path: examplePath(declared), body: `{${members}}` }
      }
    }
  }
}

/** Returns a valid value of the schema, so that the check of one member comes after that of the others. */
function exampleOf({
  type: types = [],
  properties = {},
  required = [],
  enum: choices,
  anyOf,
  items,
  minimum,
}: Schema): unknown {
  if (choices !== undefined) return choices[0]
  const [type] = [types].flat()
  const [first] = anyOf ?? []
  if (first !== undefined) return exampleOf(first)
  if (type === 'object') {
    const members = Object.entries(properties).filter(([name]) => required.includes(name))
    return Object.fromEntries(members.map(([name, schema]) => [name, exampleOf(schema)]))
  }
  if (type === 'array') return items === undefined ? [] : [exampleOf(items)]
  if (type === 'integer' || type === 'number') return minimum ?? 1
  return type === 'boolean' ? true : 'note'
}
