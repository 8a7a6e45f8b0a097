import type { Column, ColumnType } from '../../../../database/catalog/model.ts'
import { databaseErrors } from '../../../../database/errors/errors.ts'
import { isObject } from '../../../../lib/json.ts'
import { collectionErrors } from '../errors.ts'
import { findGeometryFault } from './geojson.ts'
import { findTimeZone } from './time-zone.ts'

/**
 * Checks of values that PostgreSQL would accept as something else. It would accept an object as a text, any text as
 * bytes, a time without its offset, and a composite value without some of its members. Everything else is left to
 * PostgreSQL.
 */

/** Function that returns what is wrong with a JSON value, or undefined. */
type FindFault = (value: unknown) => string | undefined

/** Checks by type, which live as long as their catalog snapshot. */
const byType = new WeakMap<ColumnType, FindFault | null>()

/** @throws AppError unknown_column, invalid_value, invalid_geometry */
export function requireFittingValue(column: Pick<Column, 'name' | 'type'>, value: unknown): void {
  requireKnownMembers(column, value)
  const fault = faultFinderOf(column.type)?.(value)
  if (fault === undefined) return
  throw isSpatial(column.type)
    ? databaseErrors.invalidGeometry().with({
        data: { [column.name]: { code: 'invalid_geometry', message: fault } },
      })
    : databaseErrors.invalidValue(`${column.name}: ${fault}`)
}

/** Rejects members that the composite type does not have, since PostgreSQL ignores them. */
function requireKnownMembers({ name, type }: Pick<Column, 'name' | 'type'>, value: unknown): void {
  const { element, attributes } = type
  if (Array.isArray(value)) {
    if (element === undefined || !isOfComposites(element)) return
    // An array inside an array is a dimension.
    for (const each of value) requireKnownMembers({ name, type: Array.isArray(each) ? type : element }, each)
  } else if (attributes !== undefined && isObject(value)) {
    const types = new Map(attributes.map((attribute) => [attribute.name, attribute.type]))
    for (const [member, memberValue] of Object.entries(value)) {
      const memberType = types.get(member)
      if (memberType === undefined) throw collectionErrors.unknownColumn(member, name)
      requireKnownMembers({ name: `${name}.${member}`, type: memberType }, memberValue)
    }
  }
}

function isOfComposites({ element, attributes }: ColumnType): boolean {
  return attributes !== undefined || (element !== undefined && isOfComposites(element))
}

/** Returns what is wrong with a value that is written as text, in a filter or as an id. */
export function findTextFault({ type }: Column, text: string): string | undefined {
  return faultFinderOf(type)?.(text)
}

function faultFinderOf(type: ColumnType): FindFault | null {
  let found = byType.get(type)
  if (found === undefined) {
    found = createFaultFinder(type) ?? null
    byType.set(type, found)
  }
  return found
}

function createFaultFinder(type: ColumnType): FindFault | undefined {
  const { element, attributes, base } = type
  if (element !== undefined) {
    const find = faultFinderOf(element)
    return find === null ? undefined : (value) => findElementFault(element, find, value)
  }
  if (attributes !== undefined) {
    return (value) => {
      if (!isObject(value)) return undefined
      for (const { name, type: attribute } of attributes) {
        const fault = Object.hasOwn(value, name) ? faultFinderOf(attribute)?.(value[name]) : undefined
        if (fault !== undefined) return `${name}: ${fault}`
      }
      return undefined
    }
  }
  if (type.spatialSchema !== undefined) {
    return (value) => (isObject(value) ? findGeometryFault(value, base === 'geography') : undefined)
  }
  if (type.isText) return findTextTypeFault
  return byBase[base]
}

const byBase: Readonly<Record<string, FindFault>> = {
  bytea: (value) =>
    value === null || (typeof value === 'string' && /^\\x(\s*[0-9a-f]{2})*\s*$/i.test(value))
      ? undefined
      : 'expected bytes in hexadecimal, e.g. "\\\\x48656c6c6f"',
  timestamp: findTimeFault,
  time: findTimeFault,
  tsrange: findRangeFault,
  tsmultirange: findRangeFault,
}

function findTextTypeFault(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return `expected a text, not an ${Array.isArray(value) ? 'array' : 'object'}`
}

function findTimeFault(value: unknown): string | undefined {
  const zone = typeof value === 'string' ? findTimeZone(value) : undefined
  return zone === undefined
    ? undefined
    : `the column has no time zone: expected a time without the offset ${zone}, or in UTC`
}

function findRangeFault(value: unknown): string | undefined {
  return typeof value === 'string' ? findAny(partsOf(value), findTimeFault) : undefined
}

/**
 * Checks the elements of an array. An array inside an array is a dimension, unless the elements are arrays
 * themselves. A text is an array literal.
 */
function findElementFault(element: ColumnType, find: FindFault, value: unknown): string | undefined {
  if (typeof value === 'string') return findAny(partsOf(value), find)
  if (!Array.isArray(value)) return undefined
  return findAny(value, (each) =>
    Array.isArray(each) && element.element === undefined ? findElementFault(element, find, each) : find(each),
  )
}

/** Returns the parts between the braces and commas of an array or range literal. */
function partsOf(literal: string): string[] {
  const body = literal.replace(/^(\s*\[[\d:[\]+-]+=)/, '')
  return [...body.matchAll(/"((?:[^"\\]|\\.|"")*)"|[^\s{}[\](),"][^{}[\](),"]*/gs)].flatMap(
    ([bare, quoted]) =>
      quoted === undefined && /^null$/i.test(bare.trim())
        ? []
        : [(quoted ?? bare).replace(/\\(.)|""/gs, (_, escaped: string | undefined) => escaped ?? '"')],
  )
}

function findAny(values: readonly unknown[], find: FindFault): string | undefined {
  for (const value of values) {
    const fault = find(value)
    if (fault !== undefined) return fault
  }
  return undefined
}

function isSpatial({ element, spatialSchema }: ColumnType): boolean {
  return spatialSchema !== undefined || (element !== undefined && isSpatial(element))
}
