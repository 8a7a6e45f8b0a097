import { choice, flag, integer } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** `graphql`: the data API by GraphQL. */
export const graphqlConfig = Type.Object({
  enabled: flag(true, 'Serves `/api/graphql`. When false, it responds with 404.'),
  introspection: choice(
    'caller',
    ['caller', 'admin', 'open', 'disabled'],
    'Access to the schema. `caller`: every caller reads the part that it may use. `admin`: administrators only. `open`: every client reads all of it. `disabled`: no client.',
  ),
  persisted: choice(
    'off',
    ['off', 'allow', 'only'],
    'Persisted documents: `allow` accepts the hash of a listed document in place of its text, `only` refuses every document that is not listed.',
  ),
  max_depth: integer(12, 'Levels of fields in one operation.', 1, 100),
  max_root_fields: integer(20, 'Root fields of one operation.', 1, 1000),
  max_aliases: integer(50, 'Aliases in one operation.', 0, 1000),
  max_cost: integer(
    50_000,
    'Estimated records of one operation. A list counts its `limit`, multiplied by the limits of the lists around it.',
    1,
    10_000_000,
  ),
})

export type GraphqlConfig = Static<typeof graphqlConfig>
