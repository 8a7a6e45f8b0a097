import { GraphQLBoolean, GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql'
import type { Namespace } from './names.ts'
import { intScalar, jsonScalar } from './scalars.ts'

/** Creates the type of a facet, which all tables share. @param names names of types that are given already */
export function createFacetType(names: Namespace): GraphQLObjectType {
  const value = new GraphQLObjectType({
    name: names.claim('FacetValue'),
    fields: {
      value: {
        type: jsonScalar,
        description: 'Value as records have it.',
        extensions: { meaning: { kind: 'facetValue' } },
      },
      count: { type: new GraphQLNonNull(intScalar), extensions: { meaning: { kind: 'facetCount' } } },
    },
  })
  return new GraphQLObjectType({
    name: names.claim('Facet'),
    description: 'Values of one column, and how often they occur.',
    fields: {
      column: { type: new GraphQLNonNull(GraphQLString), extensions: { meaning: { kind: 'facetColumn' } } },
      values: {
        type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(value))),
        description: 'The most frequent ones first, at most `api.max_facet_buckets`.',
        extensions: { meaning: { kind: 'facetValues' } },
      },
      exhaustive: {
        type: new GraphQLNonNull(GraphQLBoolean),
        description: 'False if values were left out.',
        extensions: { meaning: { kind: 'facetExhaustive' } },
      },
      min: {
        type: jsonScalar,
        description: 'Smallest number; null for a column without numbers.',
        extensions: { meaning: { kind: 'facetMin' } },
      },
      max: { type: jsonScalar, extensions: { meaning: { kind: 'facetMax' } } },
    },
  })
}
