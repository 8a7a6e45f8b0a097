import { quoteIdentifier } from '../sql.ts'
import type { Catalog, Relation, Relationship } from './model.ts'
import { parseRelationNames, type RelationDirective, withRelationNames } from './relation-comments.ts'
import { type ForeignKeyEdge, nameByConstraint } from './relationships.ts'

/** Name of `expand` and filters with a new meaning. */
export interface RelationChange {
  readonly collection: string
  readonly name: string
  /** Previous meaning: `author_id`, or `book.author_id` for the records that refer to one. */
  readonly was: string
  /** Current meaning; null when no relation has this name any more. */
  readonly now: string | null
  /** Current name of the previous meaning; null when the key was dropped. */
  readonly newName: string | null
  /** Statement that restores the previous meaning of the name; null if there is none. */
  readonly keep: string | null
}

/** Snapshot with the names of its relations, by the current or another rule. */
interface Named {
  readonly catalog: Catalog
  readonly namesOf: (relation: Relation) => ReadonlyMap<string, Relationship>
}

/**
 * Finds the names whose meaning differs between two states of a database. Relations are identified by
 * properties that a rename keeps.
 */
export function compareRelationNames(before: Catalog, after: Catalog): RelationChange[] {
  const namesOf = ({ relationships }: Relation) => relationships
  return compare({ catalog: before, namesOf }, { catalog: after, namesOf })
}

/** Finds the names with a new meaning since keys are no longer named by their constraints alone. */
export function compareWithNamesByConstraint(catalog: Catalog): RelationChange[] {
  const former = nameByConstraint(edgesOf(catalog))
  return compare(
    { catalog, namesOf: ({ collection }) => former.get(collection) ?? new Map() },
    { catalog, namesOf: ({ relationships }) => relationships },
  )
}

function compare(before: Named, after: Named): RelationChange[] {
  const byOid = new Map([...after.catalog.relations.values()].map((relation) => [relation.oid, relation]))
  const found = [...before.catalog.relations.values()].flatMap((earlier) => {
    const relation = byOid.get(earlier.oid)
    if (relation === undefined) return []
    const names = after.namesOf(relation)
    const byMeaning = new Map(
      [...names.values()].map((each) => [meaningOf(after.catalog, relation, each), each]),
    )
    return [...before.namesOf(earlier)].flatMap(([name, was]) => {
      const meaning = meaningOf(before.catalog, earlier, was)
      const now = names.get(name)
      if (now !== undefined && meaningOf(after.catalog, relation, now) === meaning) return []
      return [{ relation, name, was, now, same: byMeaning.get(meaning) }]
    })
  })
  const toKeep = Map.groupBy(found, ({ relation, same }) => same && keyOf(after.catalog, relation, same))
  return found.map(({ relation, name, was, now, same }) => {
    const key = same && keyOf(after.catalog, relation, same)
    const names = new Map(
      (key === undefined ? [] : (toKeep.get(key) ?? [])).map((each) => [directiveOf(each.was), each.name]),
    )
    return {
      collection: relation.collection,
      name,
      was: describe(was),
      now: now === undefined ? null : describe(now),
      newName: same?.name ?? null,
      keep: same === undefined ? null : commentStatement(after.catalog, relation, same, names),
    }
  })
}

/** Returns the meaning of a relation, by ids and positions. */
function meaningOf(catalog: Catalog, relation: Relation, { kind, target, pairs }: Relationship): string {
  const other = catalog.relations.get(target)
  const columns = pairs.map(({ from, to }) => [
    relation.column.get(from)?.position,
    other?.column.get(to)?.position,
  ])
  return JSON.stringify([kind, other?.oid, columns])
}

function describe({ kind, target, pairs }: Relationship): string {
  return kind === 'many-to-one'
    ? pairs.map(({ from }) => from).join(', ')
    : pairs.map(({ to }) => `${target}.${to}`).join(', ')
}

function directiveOf({ kind }: Relationship): RelationDirective {
  return kind === 'many-to-one' ? '@name' : '@reverse_name'
}

/** Returns the table with the key of a relation. */
function ownerOf(catalog: Catalog, relation: Relation, { kind, target }: Relationship): Relation | undefined {
  return kind === 'many-to-one' ? relation : catalog.relations.get(target)
}

/** Returns an identifier of a foreign key: constraints of two tables may have the same name. */
function keyOf(catalog: Catalog, relation: Relation, relationship: Relationship): string {
  return `${ownerOf(catalog, relation, relationship)?.oid} ${relationship.constraint}`
}

function commentStatement(
  catalog: Catalog,
  relation: Relation,
  relationship: Relationship,
  names: ReadonlyMap<RelationDirective, string>,
): string | null {
  const owner = ownerOf(catalog, relation, relationship)
  const comment = withRelationNames(relationship.comment, names)
  const given = parseRelationNames(comment)
  // Some names of tables cannot be written in a request.
  const isUsable = [...names].every(([directive, name]) =>
    directive === '@name' ? given.name === name : given.reverseName === name,
  )
  // The comment on a key would rename the relations of its tables, too.
  if (owner === undefined || !isUsable || relationship.isOfView) return null
  const [constraint, schema, table] = [relationship.constraint, owner.schema, owner.name].map(quoteIdentifier)
  return `comment on constraint ${constraint} on ${schema}.${table} is ${printText(comment)};`
}

/** Quotes a text on one line, for any value of `standard_conforming_strings`. */
function printText(text: string): string {
  const quoted = text.replaceAll("'", "''")
  if (!/[\\\n\r]/.test(text)) return `'${quoted}'`
  return `e'${quoted.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}'`
}

/** Returns the foreign keys of a snapshot's relations. */
function edgesOf({ relations }: Catalog): ForeignKeyEdge[] {
  return [...relations.values()].flatMap((relation) =>
    [...relation.relationships.values()].flatMap(({ kind, constraint, comment, isOfView, target, pairs }) => {
      const other = relations.get(target)
      if (kind !== 'many-to-one' || isOfView || other === undefined) return []
      const isListed = [...other.relationships.values()].some(
        (each) =>
          each.kind === 'one-to-many' &&
          each.constraint === constraint &&
          each.target === relation.collection,
      )
      const first = relation.column.get(pairs[0]?.from ?? '')
      return [
        {
          constraint,
          comment,
          from: {
            ...endOf(
              relation,
              pairs.map(({ from }) => from),
            ),
            position: first?.position ?? 0,
          },
          to: endOf(
            other,
            pairs.map(({ to }) => to),
          ),
          isInherited: !isListed,
        },
      ]
    }),
  )
}

function endOf({ collection, schema, name }: Relation, columns: readonly string[]) {
  return { collection, schema, table: name, columns }
}
