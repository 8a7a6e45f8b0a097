import type { Catalog, Relation, Relationship } from '../../../database/catalog/model.ts'
import {
  namesIn,
  type RelationDirective,
  withRelationNames,
} from '../../../database/catalog/relation-comments.ts'
import { sql } from '../../../database/sql.ts'
import { type Finding, type Rule, write } from './advice.ts'

const rule = {
  name: 'relation_name',
  group: 'health',
  title: 'An unused relation name',
  explanation:
    'The comment on the foreign key names a relation, but the name cannot be used in a request, or another foreign key has it.',
} as const satisfies Rule

/** Finds comments on foreign keys whose `@name` or `@reverse_name` has no effect. Pure. */
export function findRelationNames({ relations }: Catalog): Finding[] {
  return [...relations.values()].flatMap((relation) =>
    [...relation.relationships.values()].flatMap((relationship) => {
      const { kind, name, constraint, comment, isOfView, target } = relationship
      // The name of a view's relation also depends on its columns.
      if (isOfView) return []
      const directive: RelationDirective = kind === 'many-to-one' ? '@name' : '@reverse_name'
      const wanted = namesIn(comment).get(directive)
      const owner = kind === 'many-to-one' ? relation : relations.get(target)
      if (wanted === undefined || wanted === name || owner === undefined) return []
      return [
        {
          rule,
          severity: 'warning' as const,
          object: `constraint "${constraint}" on ${owner.schema}.${owner.name}`,
          detail: `${directive} ${wanted} is not used; the relation of ${relation.collection} is ${name}.`,
          statement: writeComment(owner, relationship, new Map([[directive, name]])),
        },
      ]
    }),
  )
}

function writeComment(
  { schema, name }: Relation,
  { constraint, comment }: Relationship,
  names: ReadonlyMap<RelationDirective, string>,
): string {
  const text = sql.literal(withRelationNames(comment, names))
  return write(sql`comment on constraint ${sql.id(constraint)} on ${sql.id(schema, name)} is ${text}`)
}
