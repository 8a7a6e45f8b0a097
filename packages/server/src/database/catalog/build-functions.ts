import type { ColumnType, DatabaseFunction, FunctionResult, Parameter } from './model.ts'
import type { FunctionRow } from './queries/functions.ts'
import type { TypeRow } from './queries/types.ts'
import { versionOf } from './version-of.ts'

/** Lookups of function types by object id. */
export interface FunctionTypes {
  readonly rows: readonly TypeRow[]
  readonly typeOf: (oid: string) => ColumnType
  /** Returns a text that changes with all dependencies of a prepared statement. */
  readonly describe: (oid: string) => string
}

export function buildFunctions(rows: readonly FunctionRow[], types: FunctionTypes): DatabaseFunction[] {
  const pseudo = new Set(types.rows.filter(({ kind }) => kind === 'p').map(({ oid }) => oid))
  return rows.map((row) => {
    const all = argumentsOf(row)
    const inputs = all.filter(({ mode }) => mode === 'i' || mode === 'b' || mode === 'v')
    return {
      schema: row.schema,
      name: row.name,
      procedure: row.schema === 'public' ? row.name : `${row.schema}.${row.name}`,
      comment: row.comment ?? undefined,
      parameters: inputs.map(
        ({ name, mode, typeName, typeOid }, index): Parameter => ({
          name,
          type: types.typeOf(typeOid),
          typeName,
          isVariadic: mode === 'v',
          hasDefault: index >= inputs.length - row.default_count,
          variadicDefault: mode === 'v' ? (row.variadic_default ?? undefined) : undefined,
        }),
      ),
      isPolymorphic: inputs.some(({ typeOid }) => pseudo.has(typeOid)),
      volatility: volatilities[row.volatility],
      returnType: row.return_type,
      returnsSet: row.returns_set,
      returnedRelation: row.returned_relation_oid ?? undefined,
      isStrict: row.is_strict,
      result: resultOf(row, all, types),
      version: functionVersion(row, types),
      callersMayExecute: row.can_execute,
      anonymousMayExecute: row.anonymous_can_execute,
      publicMayExecute: row.public_can_execute,
      isOpenDefiner: row.is_open_definer,
    }
  })
}

const volatilities = { i: 'immutable', s: 'stable', v: 'volatile' } as const

interface Argument {
  readonly name: string
  readonly mode: FunctionRow['argument_modes'][number]
  readonly typeOid: string
  readonly typeName: FunctionRow['argument_types'][number]
}

function argumentsOf(row: FunctionRow): Argument[] {
  return row.argument_types.map((typeName, index) => ({
    name: row.argument_names[index] ?? '',
    mode: row.argument_modes[index] ?? 'i',
    typeOid: row.argument_type_oids[index] ?? '',
    typeName,
  }))
}

/** Returns the result of a function. A single output is the type that the function returns, not a row of it. */
function resultOf(row: FunctionRow, all: readonly Argument[], { typeOf }: FunctionTypes): FunctionResult {
  const outputs = all.filter(({ mode }) => mode === 'o' || mode === 'b' || mode === 't')
  if (outputs.length > 1) {
    return {
      kind: 'row',
      columns: outputs.map(({ name, typeName, typeOid }, index) => ({
        // PostgreSQL gives unnamed columns this name.
        name: name === '' ? `column${index + 1}` : name,
        typeName,
        type: typeOf(typeOid),
      })),
    }
  }
  const type = typeOf(row.return_type_oid)
  if (type.base === 'void') return { kind: 'void' }
  if (type.base === 'record') return { kind: 'record' }
  if (type.attributes !== undefined) return { kind: 'row', columns: type.attributes }
  return { kind: 'scalar', name: outputs[0]?.name || row.name, type }
}

function functionVersion(row: FunctionRow, { describe }: FunctionTypes): string {
  const types = [row.return_type_oid, ...row.argument_type_oids].map(describe)
  return versionOf(row.oid, row.version, types)
}
