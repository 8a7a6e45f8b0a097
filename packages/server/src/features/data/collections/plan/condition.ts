import type { Column, ColumnType } from '../../../../database/catalog/model.ts'
import { parseJson } from '../../../../lib/json.ts'
import type { Condition, Literal, Value } from '../parse/condition.ts'
import { filterFault } from '../parse/filter-fault.ts'
import type { Operator } from '../parse/tokens.ts'
import { findTextFault } from '../parse/values.ts'
import type { FilterPlan, Operand, TestPlan } from './filter-plan.ts'

/**
 * Plans the test of a condition.
 *
 * @param language a text search configuration, quoted and qualified
 * @throws AppError invalid_filter with the position
 */
export function planTest(column: Column, condition: Condition, language: string): FilterPlan {
  switch (condition.kind) {
    case 'compare':
      return planComparison(column, condition, condition.operator, condition.value)
    case 'in':
      return negated(condition, planMembership(column, condition, condition.values))
    case 'between':
      return negated(condition, {
        kind: 'and',
        terms: [
          planComparison(column, condition, '>=', condition.low),
          planComparison(column, condition, '<=', condition.high),
        ],
      })
    case 'set':
      return negated(condition, planSet(column, condition))
    case 'matches': {
      const operand = planOperand(column, condition)
      const applies =
        operand.as === 'column'
          ? column.type.isText || column.type.base === 'tsvector'
          : operand.as === 'text'
      if (!applies) throw inapplicable('MATCHES', operand, condition)
      return negated(condition, { kind: 'matches', operand, language, words: condition.words.text })
    }
  }
}

function negated({ isNegated }: { readonly isNegated: boolean }, term: FilterPlan): FilterPlan {
  return isNegated ? { kind: 'not', term } : term
}

function planOperand(column: Column, { json, position }: Condition): Operand {
  if (json === undefined) return { column, keys: [], as: 'column' }
  if (column.type.base !== 'jsonb') {
    throw filterFault(
      position,
      `-> does not apply to ${column.name}, which is ${column.typeName} and not jsonb`,
    )
  }
  return { column, keys: json.keys, as: json.isText ? 'text' : 'jsonb' }
}

/**
 * Plans the operand beside a value. A JSON number is compared with numbers: equal as JSON defines it, or by their
 * order.
 */
function planOperandBeside(column: Column, condition: Condition, value: Literal, isOrder: boolean): Operand {
  const operand = planOperand(column, condition)
  if (operand.as === 'column' || value?.kind !== 'number') return operand
  return { ...operand, as: isOrder ? 'number' : 'jsonb' }
}

function planComparison(column: Column, condition: Condition, operator: Operator, value: Literal): TestPlan {
  const isPattern = operator.includes('~')
  const operand = isPattern
    ? planOperand(column, condition)
    : planOperandBeside(column, condition, value, !isEquality(operator))
  if (value === null) return { kind: 'null', operand, isNegated: operator === '!=' }
  const applies =
    operand.as === 'column' ? isComparable(column.type, operator) : !isPattern || operand.as === 'text'
  if (!applies) throw inapplicable(`operator ${operator}`, operand, condition)
  return { kind: 'compare', operand, operator, value: fitting(operand, value, condition) }
}

function isEquality(operator: Operator): boolean {
  return operator === '=' || operator === '!='
}

/** Returns whether the operator applies to values of the type. */
export function isComparable(type: ColumnType, operator: Operator): boolean {
  if (operator.includes('~')) return type.isText
  return isEquality(operator) ? type.hasEquality : type.hasOrder
}

function planMembership(column: Column, condition: Condition, values: readonly Literal[]): FilterPlan {
  const operands = Map.groupBy(values, (value) => planOperandBeside(column, condition, value, false).as)
  const terms = [...operands].map(([as, group]): TestPlan => {
    const operand = { ...planOperand(column, condition), as }
    if (as === 'column' && !column.type.hasEquality) throw inapplicable('operator =', operand, condition)
    const texts = group.map((value) => (value === null ? null : fitting(operand, value, condition)))
    return { kind: 'in', operand, values: texts }
  })
  const [first] = terms
  return first !== undefined && terms.length === 1 ? first : { kind: 'or', terms }
}

function planSet(column: Column, condition: Condition & { readonly kind: 'set' }): TestPlan {
  const operand = planOperand(column, condition)
  const { operator, values, isList, position } = condition
  const { element, range, base } = column.type
  const word = operator.toUpperCase()
  if (operand.as === 'column' && element !== undefined && operator !== 'adjacent') {
    const elements = values.map((value) =>
      fitting({ ...operand, column: { ...column, type: element } }, value, condition),
    )
    return { kind: 'set', operand, operator, value: elements }
  }
  const isDocument = operand.as === 'jsonb' || (operand.as === 'column' && base === 'jsonb')
  const isRange = operand.as === 'column' && range !== undefined
  if (!isRange && !(isDocument && operator === 'contains')) throw inapplicable(word, operand, condition)
  const [value] = values
  if (isList || value === undefined) {
    throw filterFault(position, `expected one value after ${word}, as ${describe(operand)} is no array`)
  }
  const text = range === undefined ? value : { ...value, text: rangeText(value, range) }
  return { kind: 'set', operand, operator, value: fitting(operand, text, condition) }
}

/** Returns a range as written, or the range of a single value. */
function rangeText({ kind, text }: Value, range: 'range' | 'multirange'): string {
  if (kind === 'string' && /^\s*\{/.test(text)) return text
  const isRange = kind === 'string' && /^\s*([[(]|empty\s*$)/i.test(text)
  const quoted = `"${text.replace(/["\\]/g, '\\$&')}"`
  const one = isRange ? text : `[${quoted},${quoted}]`
  return range === 'multirange' ? `{${one}}` : one
}

/** Checks a value, since one that does not fit the operand would be compared as another value. */
function fitting({ column, as, keys }: Operand, { kind, text }: Value, { position }: Condition): string {
  if (as === 'column') {
    const fault = findTextFault(column, text)
    if (fault !== undefined) throw filterFault(position, `${column.name}: ${fault}`)
  }
  if (as === 'jsonb' && kind === 'string' && parseJson(text) === undefined) {
    const problem = `expected JSON beside ${describe({ column, as, keys })}, such as '{"key": 1}' or '"text"'`
    throw filterFault(position, problem)
  }
  return text
}

function inapplicable(what: string, operand: Operand, { position }: Condition): Error {
  const type = operand.as === 'column' ? operand.column.typeName : operand.as
  return filterFault(position, `${what} does not apply to ${describe(operand)}, which is ${type}`)
}

/** Formats the operand for a message: `doc->'items'->0` */
function describe({ column, keys, as }: Operand): string {
  const steps = keys.map((key, index) => {
    const arrow = as === 'text' && index === keys.length - 1 ? '->>' : '->'
    return `${arrow}${typeof key === 'number' ? key : `'${key}'`}`
  })
  return column.name + steps.join('')
}
