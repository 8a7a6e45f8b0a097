import type { InheritedOf } from './database-types.ts'
import { isDate } from './exact-json.ts'

/** What stands in filters: a text, number or truth value; null; a point in time. */
export type FilterValue = string | number | bigint | boolean | Date | null

/** A condition as the server reads it, its values quoted. Made by {@link where} and the functions below alone. */
export class Condition {
  readonly text: string

  /** @internal */
  constructor(text: string) {
    this.text = text
  }
}

/** What a value is compared by; made by {@link gt} and its like, never by data. */
export class Comparison<Value> {
  /** @internal */
  readonly compile: (name: string) => string
  /** Only for the type. */
  declare readonly value: Value

  /** @internal */
  constructor(compile: (name: string) => string) {
    this.compile = compile
  }
}

/** Columns that all have to have these values, or to compare so: `{ done: false, n: gt(5) }`. */
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

export type Filter<Row> = Condition | FilterObject<Row>

/**
 * A filter in the language of the API: where`title ~ ${pattern} and id in (${ids})`. What is interpolated is a value, a
 * list of values, or another condition; it can never be more.
 */
export function where(strings: TemplateStringsArray, ...values: readonly unknown[]): Condition {
  return new Condition(strings.reduce((text, part, index) => `${text}${quote(values[index - 1])}${part}`))
}

/** A column or path of relations by name, for {@link where}: where`${column('odd "name"')} = 1`. */
export function column(...path: readonly [string, ...string[]]): Condition {
  return new Condition(path.map(quoteName).join('.'))
}

export function and(...conditions: readonly Condition[]): Condition {
  return join(conditions, ' and ')
}

export function or(...conditions: readonly Condition[]): Condition {
  return join(conditions, ' or ')
}

export function not(condition: Condition): Condition {
  return new Condition(`not (${condition.text})`)
}

function join(conditions: readonly Condition[], word: string): Condition {
  if (conditions.length === 0) throw new TypeError('a filter needs at least one condition')
  return new Condition(conditions.map(({ text }) => `(${text})`).join(word))
}

/** By rank and by pattern nothing compares with null. */
const compare =
  <Operand extends FilterValue = NonNullable<FilterValue>>(operator: string) =>
  <Value extends Operand>(value: Value): Comparison<Value> =>
    new Comparison((name) => `${name} ${operator} ${quoteValue(value)}`)

export const eq = compare<FilterValue>('=')
export const neq = compare<FilterValue>('!=')
export const gt = compare('>')
export const gte = compare('>=')
export const lt = compare('<')
export const lte = compare('<=')
/** `%` is any text, `_` any character. */
export const like = compare('~')
export const ilike = compare('~*')
export const contains = compare('CONTAINS')

/** One of the values, null as well; of none, no record. */
export function oneOf<Value extends FilterValue>(values: readonly Value[]): Comparison<Value> {
  return new Comparison((name) => {
    if (values.length === 0) return `(${name} is null and ${name} is not null)`
    // In a list, NULL is equal to nothing.
    const others = values.filter((value) => value !== null)
    if (others.length === 0) return `${name} = null`
    const isOther = `${name} in (${quoteList(others)})`
    return others.length === values.length ? isOther : `(${name} = null or ${isOther})`
  })
}

/** @internal What a filter is as a parameter. */
export function compileFilter<Row>(filter: Filter<Row>): string {
  if (filter instanceof Condition) return filter.text
  // Without types it may be nothing.
  const prototype: unknown = Object.getPrototypeOf(filter ?? '')
  // An object of another realm has a prototype of its own, too.
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
  // A name is a part of a condition, a condition a whole.
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
  // An object of data must not become a comparison, nor its text a value.
  throw new TypeError(`a filter takes texts, numbers, booleans, dates and null, not ${describe(value)}`)
}

function describe(value: unknown): string {
  return typeof value === 'object' ? 'an object' : String(value)
}

/** @internal A name of any characters. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
