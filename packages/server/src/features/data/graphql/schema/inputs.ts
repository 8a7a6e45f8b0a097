import {
  GraphQLBoolean,
  GraphQLEnumType,
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLScalarType,
  GraphQLString,
} from 'graphql'
import type { Comparison } from './column-types.ts'
import type { Namespace } from './names.ts'
import { bigIntScalar, floatScalar, geoJsonScalar, intScalar, jsonScalar, numericScalar } from './scalars.ts'

/** Inputs that all tables share. */
export interface SharedInputs {
  readonly orderBy: GraphQLEnumType
  readonly near: GraphQLInputObjectType
  readonly within: GraphQLInputObjectType
  readonly intersects: GraphQLInputObjectType
  readonly bbox: GraphQLInputObjectType
  readonly distanceOrder: GraphQLInputObjectType
  readonly distance: GraphQLEnumType
  comparisonOf(comparison: Exclude<Comparison, 'none'>): GraphQLInputObjectType
  /** Returns the comparison whose input type has the name. */
  findComparison(name: string): GraphQLInputObjectType | undefined
}

const equality = ['_eq', '_neq']
const order = ['_gt', '_gte', '_lt', '_lte']
const patterns = ['_like', '_ilike']

const comparisons: Readonly<
  Record<
    Exclude<Comparison, 'none'>,
    { type: GraphQLScalarType; operators: readonly string[]; lists: boolean }
  >
> = {
  Int: { type: intScalar, operators: [...equality, ...order], lists: true },
  BigInt: { type: bigIntScalar, operators: [...equality, ...order], lists: true },
  Float: { type: floatScalar, operators: [...equality, ...order], lists: true },
  Numeric: { type: numericScalar, operators: [...equality, ...order], lists: true },
  String: { type: GraphQLString, operators: [...equality, ...order, ...patterns], lists: true },
  Boolean: { type: GraphQLBoolean, operators: equality, lists: false },
  JSON: { type: jsonScalar, operators: equality, lists: false },
}

/** @param names names of types that are given already */
export function createSharedInputs(names: Namespace): SharedInputs {
  const made = new Map<string, GraphQLInputObjectType>()
  const typeNames = new Map(
    Object.keys(comparisons).map((comparison) => [comparison, names.claim(`${comparison}ComparisonInput`)]),
  )
  const required = (type: GraphQLScalarType) => ({ type: new GraphQLNonNull(type) })
  const shared: SharedInputs = {
    orderBy: new GraphQLEnumType({
      name: names.claim('OrderByEnum'),
      values: { ASC: { description: 'NULL last.' }, DESC: { description: 'NULL first.' } },
    }),
    near: new GraphQLInputObjectType({
      name: names.claim('NearInput'),
      description: 'Places at most `distance` meters from a point.',
      fields: {
        column: required(GraphQLString),
        longitude: required(floatScalar),
        latitude: required(floatScalar),
        distance: required(floatScalar),
      },
    }),
    within: new GraphQLInputObjectType({
      name: names.claim('WithinInput'),
      description: 'Places within a Polygon or MultiPolygon.',
      fields: { column: required(GraphQLString), geojson: required(geoJsonScalar) },
    }),
    intersects: new GraphQLInputObjectType({
      name: names.claim('IntersectsInput'),
      description: 'Places that touch a geometry.',
      fields: { column: required(GraphQLString), geojson: required(geoJsonScalar) },
    }),
    distanceOrder: new GraphQLInputObjectType({
      name: names.claim('OrderByDistanceInput'),
      description: 'Point in WGS 84 that records are sorted by their distance to.',
      fields: {
        column: required(GraphQLString),
        longitude: required(floatScalar),
        latitude: required(floatScalar),
      },
    }),
    distance: new GraphQLEnumType({
      name: names.claim('VectorDistanceEnum'),
      values: { cosine: {}, l2: {}, inner_product: {} },
    }),
    bbox: new GraphQLInputObjectType({
      name: names.claim('BBoxInput'),
      description: 'Places within a rectangle.',
      fields: {
        column: required(GraphQLString),
        minLng: required(floatScalar),
        minLat: required(floatScalar),
        maxLng: required(floatScalar),
        maxLat: required(floatScalar),
      },
    }),
    comparisonOf(comparison) {
      const known = made.get(comparison)
      if (known !== undefined) return known
      const { type, operators, lists } = comparisons[comparison]
      const input = new GraphQLInputObjectType({
        name: typeNames.get(comparison) ?? '',
        fields: {
          ...Object.fromEntries(operators.map((operator) => [operator, { type }])),
          ...(lists
            ? {
                _in: { type: new GraphQLList(new GraphQLNonNull(type)) },
                _nin: { type: new GraphQLList(new GraphQLNonNull(type)) },
              }
            : {}),
          _is_null: { type: GraphQLBoolean },
        },
      })
      made.set(comparison, input)
      return input
    },
    findComparison(name) {
      const found = [...typeNames].find(([, typeName]) => typeName === name)?.[0]
      return found === undefined ? undefined : shared.comparisonOf(found as Exclude<Comparison, 'none'>)
    },
  }
  return shared
}
