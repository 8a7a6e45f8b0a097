import type { Column, DatabaseFunction, Relation } from '../../../../database/catalog/model.ts'

/** Returns the comment of a table. If its name in the schema is another one, its own name follows. */
export function describeTable({ collection, kind, comment }: Relation, name: string): string | undefined {
  return describeEntity(comment, kind.replace('_', ' '), collection, name)
}

/** Returns the comment of a column. If its name in the schema is another one, its own name follows. */
export function describeColumn({ name: own, comment }: Column, name: string): string | undefined {
  return describeEntity(comment, 'column', own, name)
}

/** Returns the comment of a function. If its name in the schema is another one, its own name follows. */
export function describeFunction({ procedure, comment }: DatabaseFunction, name: string): string | undefined {
  return describeEntity(comment, 'function', procedure, name)
}

/** Returns the description of an enum value or a constraint whose name in the schema is another one. */
export function describeRenamed(noun: string, own: string, name: string): string | undefined {
  return describeEntity(undefined, noun, own, name)
}

/** Returns the description of a generated name that another name has replaced. */
export function describeReplaced(wanted: string, name: string): string | undefined {
  return wanted === name ? undefined : `Has this name because a table is named \`${wanted}\`.`
}

function describeEntity(
  comment: string | undefined,
  noun: string,
  own: string,
  name: string,
): string | undefined {
  if (own === name) return comment
  const note = `Name of the ${noun}: \`${own}\`.`
  return comment === undefined ? note : `${comment}\n\n${note}`
}
