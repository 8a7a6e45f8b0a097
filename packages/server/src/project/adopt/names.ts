import type { Catalog, Relation } from '../../database/catalog/model.ts'
import { quoteIdentifier } from '../../database/sql.ts'
import { OperatorError } from '../../lib/errors.ts'
import { suggestion } from '../../lib/suggestion.ts'

interface Named {
  readonly schema: string
  readonly name: string
}

/** Quotes the name with its schema. */
export function quoted({ schema, name }: Named): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`
}

/** Returns true for relations that can have row-level security. */
export function isTable({ kind }: Pick<Relation, 'kind'>): boolean {
  return kind === 'table' || kind === 'partitioned_table'
}

/** Finds a table by its name in the API. @throws OperatorError that names the flag */
export function findTable({ relations }: Pick<Catalog, 'relations'>, name: string, flag: string): Relation {
  const relation = relations.get(name)
  if (relation !== undefined) return relation
  throw new OperatorError(
    `${flag}: there is no table ${JSON.stringify(name)}${suggestion(name, [...relations.keys()])}`,
    { exitCode: 2 },
  )
}
