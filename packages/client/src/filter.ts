import type { InheritedOf } from './database-types.ts'
import { isDate } from './exact-json.ts'

/** Value in a filter: text, number, boolean, null or a point in time. */
export type FilterValue = string | number | bigint | boolean | Date | null

/** Condition in the filter language of the API, with quoted values. Only {@link where} and the functions below create one. */
export class Condition {
  readonly text: string

  /** @internal */
  constructor(text: string) {
    this.text = text
  }
}

/** Comparison of a column with a value. Only {@link gt} and the functions like it create one, never JSON data. */
export class Comparison<Value> {
  /** @internal */
  readonly compile: (name: string) => string
  /** Type marker without a value at run time. */
  declare readonly value: Value

  /** @internal */
  constructor(compile: (name: string) => string) {
    this.compile = compile
  }
}

/** Conditions on columns, all of which have to hold: `{ done: false, n: gt(5) }`. */
export type FilterObject<Row> = {
  readonly [Column in keyof Row]?:
    | (Row[Column] extends FilterValue | undefined
        ? Widen<Row[Column]> | Comparison<Widen<Row[Column]>>
        : Comparison<FilterValue>)
    | InheritedOf<Column>
}

type Widen<Value> =
  | Value
  | (number extends Value ? bigint : never)
  | (string extends Value ? (number extends Value ? never : Date) : never)

/** Filter of a list: an object of conditions, or a condition made by {@link where}. */
export type Filter<Row> = Condition | FilterObject<Row>

/**
 * Creates a condition in the filter language of the API: where`title ~ ${pattern} and id in (${ids})`. An interpolated part is
 * a value, a list of values or another condition. It is quoted, so it cannot inject anything else.
 *
 * @throws TypeError for a value that a filter cannot contain
 */
export function where(strings: TemplateStringsArray, ...values: readonly unknown[]): Condition {
  return new Condition(strings.reduce((text, part, index) => `${text}${quote(values[index - 1])}${part}`))
}

/** Names a column or a path of relations in {@link where}: where`${column('odd "name"')} = 1`. */
export function column(...path: readonly [string, ...string[]]): Condition {
  return new Condition(path.map(quoteName).join('.'))
}

/** Combines conditions, all of which have to hold. @throws TypeError without conditions */
export function and(...conditions: readonly Condition[]): Condition {
  return join(conditions, ' and ')
}

/** Combines conditions, at least one of which has to hold. @throws TypeError without conditions */
export function or(...conditions: readonly Condition[]): Condition {
  return join(conditions, ' or ')
}

/** Negates a condition. */
export function not(condition: Condition): Condition {
  return new Condition(`not (${condition.text})`)
}

function join(conditions: readonly Condition[], word: string): Condition {
  if (conditions.length === 0) throw new TypeError('a filter needs at least one condition')
  return new Condition(conditions.map(({ text }) => `(${text})`).join(word))
}

/** Creates a comparison function. Null is only allowed for equality: no other operator compares with it. */
const compare =
  <Operand extends FilterValue = NonNullable<FilterValue>>(operator: string) =>
  <Value extends Operand>(value: Value): Comparison<Value> =>
    new Comparison((name) => `${name} ${operator} ${quoteValue(value)}`)

/** Compares for equality; `eq(null)` finds empty columns. */
export const eq = compare<FilterValue>('=')
/** Compares for inequality; `neq(null)` finds columns that have a value. */
export const neq = compare<FilterValue>('!=')
/** Finds values greater than this one. */
export const gt = compare('>')
/** Finds values greater than or equal to this one. */
export const gte = compare('>=')
/** Finds values less than this one. */
export const lt = compare('<')
/** Finds values less than or equal to this one. */
export const lte = compare('<=')
/** Matches a pattern in which `%` stands for any text and `_` for any character. Upper and lower case differ. */
export const like = compare('~')
/** Matches a pattern as {@link like} does, ignoring upper and lower case. */
export const ilike = compare('~*')
/** Finds arrays, ranges and `jsonb` values that contain this value. */
export const contains = compare('CONTAINS')

/** Finds columns that have one of these values, null included. An empty list matches no record. */
export function oneOf<Value extends FilterValue>(values: readonly Value[]): Comparison<Value> {
  return new Comparison((name) => {
    if (values.length === 0) return `(${name} is null and ${name} is not null)`
    // In a list, NULL equals nothing.
    const others = values.filter((value) => value !== null)
    if (others.length === 0) return `${name} = null`
    const isOther = `${name} in (${quoteList(others)})`
    return others.length === values.length ? isOther : `(${name} = null or ${isOther})`
  })
}

/** @internal Compiles a filter into the URL parameter. */
export function compileFilter<Row>(filter: Filter<Row>): string {
  if (filter instanceof Condition) return filter.text
  // Callers without types may pass undefined.
  const prototype: unknown = Object.getPrototypeOf(filter ?? '')
  // An object of another realm also has a different prototype.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw new TypeError('a filter is a plain object or made by where')
  }
  const conditions = Object.entries(filter).flatMap(([name, value]) =>
    value === undefined ? [] : [compileMember(quoteName(name), value)],
  )
  return conditions.join(' and ')
}

function compileMember(name: string, value: unknown): string {
  return value instanceof Comparison ? value.compile(name) : `${name} = ${quoteValue(value)}`
}

function quote(value: unknown): string {
  // A column name stays part of the condition. A condition is put in parentheses.
  if (value instanceof Condition)
    return /^"(?:[^"]|"")+"(?:\."(?:[^"]|"")+")*$/.test(value.text) ? value.text : `(${value.text})`
  return Array.isArray(value) ? quoteList(value) : quoteValue(value)
}

function quoteList(values: readonly unknown[]): string {
  if (values.length === 0) throw new TypeError('a list in a filter needs at least one value; see oneOf')
  return values.map(quoteValue).join(', ')
}

function quoteValue(value: unknown): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (typeof value === 'string') return `'${value.replace(/[\\']/g, '\\$&')}'`
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  if (isDate(value)) return `'${value.toISOString()}'`
  // An object in user data must become neither a comparison nor a string.
  throw new TypeError(`a filter takes texts, numbers, booleans, dates and null, not ${describe(value)}`)
}

function describe(value: unknown): string {
  return typeof value === 'object' ? 'an object' : String(value)
}

/** @internal Quotes a name, which may contain any characters. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
