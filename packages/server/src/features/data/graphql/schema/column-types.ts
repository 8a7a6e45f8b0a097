import {
  GraphQLBoolean,
  GraphQLEnumType,
  GraphQLList,
  type GraphQLNullableType,
  type GraphQLScalarType,
  GraphQLString,
} from 'graphql'
import type { ColumnType } from '../../../../database/catalog/model.ts'
import { describeRenamed } from './descriptions.ts'
import { type Namespace, toGraphqlName, toValueName } from './names.ts'
import {
  bigIntScalar,
  dateTimeScalar,
  floatScalar,
  geoJsonScalar,
  intScalar,
  jsonScalar,
  numericScalar,
} from './scalars.ts'

/** Type of a column in the schema, of input and output. */
export interface ColumnTypeInSchema {
  readonly type: GraphQLNullableType & (GraphQLScalarType | GraphQLEnumType | GraphQLList<GraphQLScalarType>)
  /** True for numbers that responses have as strings. */
  readonly isText: boolean
  /** Names of enum labels that differ from the labels. */
  readonly renamed: ReadonlyMap<string, string> | undefined
  /** Comparisons that a filter offers: name of their input type. */
  readonly comparison: Comparison
}

export type Comparison = 'Int' | 'BigInt' | 'Float' | 'Numeric' | 'String' | 'Boolean' | 'JSON' | 'none'

/** Types by the name of the PostgreSQL type. */
const byBase = new Map<string, readonly [GraphQLScalarType, Comparison, 'text'?]>(
  Object.entries({
    int2: [intScalar, 'Int'],
    int4: [intScalar, 'Int'],
    int8: [bigIntScalar, 'BigInt', 'text'],
    oid: [bigIntScalar, 'BigInt', 'text'],
    float4: [floatScalar, 'Float'],
    float8: [floatScalar, 'Float'],
    numeric: [numericScalar, 'Numeric', 'text'],
    bool: [GraphQLBoolean, 'Boolean'],
    timestamp: [dateTimeScalar, 'String'],
    timestamptz: [dateTimeScalar, 'String'],
    json: [jsonScalar, 'JSON'],
    jsonb: [jsonScalar, 'JSON'],
    vector: [GraphQLString, 'String', 'text'],
    halfvec: [GraphQLString, 'String', 'text'],
  }),
)

/** Returns the label whose name in the schema is another one; undefined for any other text. */
export function labelOf({ enumLabels }: ColumnType, name: string): string | undefined {
  if (enumLabels === undefined || enumLabels.includes(name)) return undefined
  const found = enumLabels.filter((label) => toValueName(label) === name)
  return found.length === 1 ? found[0] : undefined
}

/** Types of columns, each enum once. */
export class ColumnTypes {
  readonly #names: Namespace
  readonly #enums = new Map<string, ColumnTypeInSchema>()

  /** @param names names of types that are given already */
  constructor(names: Namespace) {
    this.#names = names
  }

  /** Returns the enums of all columns. */
  enums(): readonly GraphQLEnumType[] {
    return [...this.#enums.values()].map(({ type }) => type).filter((type) => type instanceof GraphQLEnumType)
  }

  find(type: ColumnType): ColumnTypeInSchema {
    const { element, enumLabels, spatialSchema, attributes, base, json } = type
    if (element !== undefined) return this.#listOf(element)
    if (enumLabels !== undefined) return this.#enumOf(type, enumLabels)
    if (spatialSchema !== undefined) return plain(geoJsonScalar, 'none')
    if (attributes !== undefined) return plain(jsonScalar, 'none')
    const [scalar, comparison, text] = byBase.get(base) ?? fallback(json)
    return { ...plain(scalar, comparison), isText: text === 'text' }
  }

  /** Returns a list of one level. Arrays of lists, of JSON and of renamed enums are JSON. */
  #listOf(element: ColumnType): ColumnTypeInSchema {
    const found = this.find(element)
    if (element.element !== undefined || found.renamed !== undefined || found.type === jsonScalar) {
      return plain(jsonScalar, 'none')
    }
    return { ...found, type: new GraphQLList(found.type as GraphQLScalarType), comparison: 'String' }
  }

  #enumOf({ name }: ColumnType, labels: readonly string[]): ColumnTypeInSchema {
    const known = this.#enums.get(name)
    if (known !== undefined) return known
    const made = this.#createEnum(name, labels)
    this.#enums.set(name, made)
    return made
  }

  #createEnum(name: string, labels: readonly string[]): ColumnTypeInSchema {
    const names = labels.map(toValueName)
    // Labels that cannot be distinguished by name stay texts.
    if (labels.length === 0 || new Set(names).size < names.length) return plain(GraphQLString, 'String')
    const renamed = new Map(
      labels.flatMap((label, index) => (label === names[index] ? [] : [[label, names[index] ?? '']])),
    )
    const type = new GraphQLEnumType({
      name: this.#names.claim(`${pascalOf(name)}Enum`),
      values: Object.fromEntries(
        labels.map((label, index) => {
          const value = names[index] ?? ''
          return [value, { value: label, description: describeRenamed('label', label, value) }]
        }),
      ),
    })
    return { type, isText: false, renamed: renamed.size === 0 ? undefined : renamed, comparison: 'String' }
  }
}

function plain(type: ColumnTypeInSchema['type'], comparison: Comparison): ColumnTypeInSchema {
  return { type, isText: false, renamed: undefined, comparison }
}

function fallback(json: ColumnType['json']): readonly [GraphQLScalarType, Comparison, 'text'?] {
  switch (json) {
    case 'boolean':
      return [GraphQLBoolean, 'Boolean']
    case 'integer':
    case 'number':
      return [numericScalar, 'Numeric', 'text']
    case 'object':
    case 'array':
      return [jsonScalar, 'none']
    default:
      return [GraphQLString, 'String']
  }
}

/** Returns the type name in Pascal case: `shop.order_state` → `ShopOrderState`. */
function pascalOf(typeName: string): string {
  return toGraphqlName(typeName.replaceAll('"', ''))
    .split('_')
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('')
}
