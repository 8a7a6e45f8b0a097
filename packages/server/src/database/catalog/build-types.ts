import type { ColumnType } from './model.ts'
import type { TypeRow } from './queries/types.ts'

/** Returns a function that builds each type once. No type contains itself: Postgres rejects that. */
export function createTypeBuilder(rows: readonly TypeRow[]): (oid: string) => ColumnType {
  const types = new Map(rows.map((row) => [row.oid, row]))
  const built = new Map<string, ColumnType>()
  const rowOf = (oid: string): TypeRow => {
    const row = types.get(oid)
    if (row === undefined) throw new Error(`the catalog lacks type ${oid}`)
    return row
  }
  const build = (type: TypeRow): ColumnType => {
    let base = type
    let isNotNull = false
    for (; base.kind === 'd'; base = rowOf(base.base_oid)) isNotNull ||= base.not_null
    const element = base.element_oid === '0' ? undefined : typeOf(base.element_oid)
    const attributes = base.attributes ?? []
    const isComposite = base.kind === 'c'
    return {
      name: type.full_name,
      base: base.name,
      element,
      attributes: isComposite
        ? attributes.map(({ name, type: typeName, type_oid }) => ({ name, typeName, type: typeOf(type_oid) }))
        : undefined,
      range: base.kind === 'r' ? 'range' : base.kind === 'm' ? 'multirange' : undefined,
      // Another type may have such a name, but not a base type, which only an extension in C can create.
      spatialSchema: base.kind === 'b' && spatialTypes.has(base.name) ? base.schema : undefined,
      vectorSchema: base.kind === 'b' && vectorTypes.has(base.name) ? base.schema : undefined,
      isText: base.category === 'S',
      hasEquality: hasOperator(base, types, 'has_equality'),
      hasOrder: hasOperator(base, types, 'has_order'),
      isNotNull,
      default: type.default ?? undefined,
      operators: base.operators ?? undefined,
      json: element !== undefined ? 'array' : isComposite ? 'object' : (jsonTypes[base.name] ?? 'string'),
      enumLabels: base.labels ?? undefined,
    }
  }
  const typeOf = (oid: string): ColumnType => {
    const known = built.get(oid) ?? build(rowOf(oid))
    built.set(oid, known)
    return known
  }
  return typeOf
}

/**
 * Returns a function that describes a type with all its parts. The text changes with all dependencies of a
 * prepared statement.
 */
export function createTypeDescriber(rows: readonly TypeRow[]): (oid: string) => string {
  const types = new Map(rows.map((row) => [row.oid, row]))
  const described = new Map<string, string>()
  const describe = (oid: string): string => {
    const known = described.get(oid)
    if (known !== undefined) return known
    const row = types.get(oid)
    const parts = [
      row?.base_oid,
      row?.element_oid,
      ...(row?.attributes ?? []).map(({ type_oid }) => type_oid),
    ]
    const inner = parts.map((part) => (part === undefined || part === '0' ? '' : describe(part)))
    const text = JSON.stringify([oid, row?.version, row?.operators, row?.attributes, inner])
    described.set(oid, text)
    return text
  }
  return describe
}

/**
 * Returns true if the type has the operator. Enums, ranges and rows compare by operators of their kind, arrays
 * if their elements do.
 */
function hasOperator(
  type: TypeRow,
  types: ReadonlyMap<string, TypeRow>,
  operator: 'has_equality' | 'has_order',
): boolean {
  const inner = type.kind === 'd' ? type.base_oid : type.element_oid
  const innerType = types.get(inner)
  if (innerType !== undefined) return hasOperator(innerType, types, operator)
  return ['e', 'r', 'm', 'c'].includes(type.kind) || type[operator] || type.has_order
}

/** Types of PostGIS, which are GeoJSON in JSON. */
const spatialTypes: ReadonlySet<string> = new Set(['geometry', 'geography'])

/** Types of pgvector. */
const vectorTypes: ReadonlySet<string> = new Set(['vector', 'halfvec', 'sparsevec'])

/** JSON types of the types that JSON does not represent as a string. */
const jsonTypes: Readonly<Record<string, ColumnType['json']>> = {
  bool: 'boolean',
  int2: 'integer',
  int4: 'integer',
  int8: 'integer',
  oid: 'string',
  float4: 'number',
  float8: 'number',
  numeric: 'number',
  json: 'object',
  jsonb: 'object',
  geometry: 'object',
  geography: 'object',
  vector: 'array',
  halfvec: 'array',
}
