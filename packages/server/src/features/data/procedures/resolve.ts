import type { DatabaseFunction, Parameter } from '../../../database/catalog/model.ts'
import type { Sql } from '../../../database/sql.ts'
import type { AppError } from '../../../lib/errors.ts'
import { suggestion } from '../../../lib/suggestion.ts'
import type { Reader } from '../collections/index.ts'
import { procedureErrors } from './errors.ts'

/** Function, and the parameters that a request passes. */
export interface Target {
  readonly called: DatabaseFunction
  /** Passed parameters in the order of the declaration. */
  readonly passed: readonly Parameter[]
  /** True if the whole body is its only argument. */
  readonly takesBody: boolean
  /** Arguments as `json`; undefined where a slot of the statement has them. */
  readonly json?: Sql
}

/**
 * Finds the overload that accepts the arguments, by their names alone, as JSON has no types to distinguish overloads
 * by. The one that leaves fewest parameters to their defaults wins. A parameter without an argument or a default is
 * null.
 *
 * @param overloads those that the caller may execute, at least one
 * @param names undefined where the body is no object
 * @throws AppError unnamed_parameters, unknown_argument, no_overload, ambiguous_function, unsupported_function
 */
export function resolve(
  overloads: readonly DatabaseFunction[],
  names: readonly string[] | undefined,
): Target {
  const candidates = overloads.filter((each) => findObstacle(each) === undefined)
  if (candidates.length === 0) throw refuse(overloads)
  const whole = candidates.find(isOfWholeBody)
  if (names === undefined) {
    if (whole === undefined) throw procedureErrors.argumentsNotObject()
    return { called: whole, passed: [], takesBody: true }
  }
  const named = candidates.filter(({ parameters }) => parameters.every(({ name }) => name !== ''))
  const matching = named.filter(({ parameters }) =>
    names.every((name) => parameters.some((parameter) => parameter.name === name)),
  )
  if (matching.length === 0) {
    if (whole !== undefined) return { called: whole, passed: [], takesBody: true }
    throw explainMismatch(candidates[0]?.procedure ?? '', named, names)
  }
  return match(matching, names)
}

/** Returns whether every argument goes into its only parameter, which has no name. */
function isOfWholeBody({ parameters: [first, ...others] }: DatabaseFunction): boolean {
  return others.length === 0 && first?.name === '' && ['json', 'jsonb'].includes(first.type.base)
}

export function mayExecute(
  { callersMayExecute, anonymousMayExecute }: DatabaseFunction,
  reader: Reader,
): boolean {
  return reader === 'unrestricted' || (reader === 'anonymous' ? anonymousMayExecute : callersMayExecute)
}

/** Returns the reason why no request can call the function; undefined where one can. */
export function findObstacle({ isPolymorphic, returnsSet, result }: DatabaseFunction): string | undefined {
  if (isPolymorphic) return 'it has parameters of a polymorphic type'
  if (returnsSet && result.kind === 'record')
    return 'it returns records without columns; declare them with returns table'
  return undefined
}

function refuse(overloads: readonly DatabaseFunction[]): Error {
  const [first] = overloads
  const obstacle = first === undefined ? undefined : findObstacle(first)
  return procedureErrors.unsupportedFunction(first?.procedure ?? '', obstacle ?? '')
}

function match(matching: readonly DatabaseFunction[], names: readonly string[]): Target {
  const passed = new Set(names)
  const absent = ({ parameters }: DatabaseFunction) => parameters.filter(({ name }) => !passed.has(name))
  const ranked = matching
    .map((called) => ({
      called,
      nulls: absent(called).filter(({ hasDefault, isVariadic }) => !hasDefault && !isVariadic).length,
      defaults: absent(called).length,
    }))
    .sort((one, other) => one.nulls - other.nulls || one.defaults - other.defaults)
  const [best, next] = ranked
  if (best === undefined) throw new Error('there is nothing to choose from')
  if (next !== undefined && next.nulls === best.nulls && next.defaults === best.defaults) {
    const equal = ranked.filter(({ nulls, defaults }) => nulls === best.nulls && defaults === best.defaults)
    throw ambiguous(equal.map(({ called }) => called))
  }
  const { called } = best
  return { called, passed: called.parameters.filter(({ name }) => passed.has(name)), takesBody: false }
}

export function ambiguous(overloads: readonly DatabaseFunction[]): AppError {
  return procedureErrors.ambiguousFunction(overloads[0]?.procedure ?? '', describe(overloads))
}

function explainMismatch(
  procedure: string,
  named: readonly DatabaseFunction[],
  names: readonly string[],
): Error {
  if (named.length === 0) return procedureErrors.unnamedParameters(procedure)
  const known = parameterNames(named)
  const unknown = names.find((name) => !known.includes(name))
  return unknown === undefined
    ? procedureErrors.noOverload(procedure, describe(named))
    : procedureErrors.unknownArgument(unknown, procedure, suggestion(unknown, known))
}

/** Returns the parameter names of all overloads. */
export function parameterNames(overloads: readonly DatabaseFunction[]): string[] {
  const names = overloads.flatMap(({ parameters }) => parameters.map(({ name }) => name))
  return [...new Set(names)].filter((name) => name !== '')
}

/** Formats the signatures: `f(a integer), f(a text)` */
function describe(overloads: readonly DatabaseFunction[]): string {
  return overloads
    .map(({ procedure, parameters }) => {
      const list = parameters.map(({ name, typeName }) => `${name} ${typeName}`)
      return `${procedure}(${list.join(', ')})`
    })
    .join(', ')
}
