import { GraphQLString } from 'graphql'
import type { Column, ColumnType } from '../../../../database/catalog/model.ts'
import type { ColumnTypeInSchema, ColumnTypes } from './column-types.ts'
import type { FigureFunction } from './meaning.ts'
import { bigIntScalar, floatScalar, numericScalar } from './scalars.ts'

/** Numbers that PostgreSQL sums exactly, by the type of the sum (PostgreSQL, Aggregate Functions). */
const exactSums = new Map([
  ['int2', bigIntScalar],
  ['int4', bigIntScalar],
  ['int8', numericScalar],
  ['numeric', numericScalar],
])
const floats: ReadonlySet<string> = new Set(['float4', 'float8'])

/** Returns whether the figure exists for values of the type. */
export function isFigureOf(figure: FigureFunction, { base, hasOrder, element }: ColumnType): boolean {
  if (element !== undefined) return false
  if (figure === 'min' || figure === 'max') return hasOrder
  return exactSums.has(base) || floats.has(base) || base === 'interval'
}

/** Returns the type of the figure. */
export function figureTypeOf(
  figure: FigureFunction,
  { type }: Column,
  columns: ColumnTypes,
): Pick<ColumnTypeInSchema, 'type' | 'isText'> {
  const found = columns.find(type)
  // A renamed label would need its own expression: such figures are texts.
  if (figure === 'min' || figure === 'max') {
    return found.renamed === undefined ? found : { type: GraphQLString, isText: true }
  }
  if (floats.has(type.base)) return { type: floatScalar, isText: false }
  if (type.base === 'interval') return { type: GraphQLString, isText: true }
  return {
    type: figure === 'sum' ? (exactSums.get(type.base) ?? numericScalar) : numericScalar,
    isText: true,
  }
}
