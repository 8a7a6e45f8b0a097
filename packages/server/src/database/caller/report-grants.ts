import type { MissingGrants } from './missing-grants.ts'

/** Maximum number of statements in one log entry. A database may have hundreds of tables. */
const shownStatements = 12

/**
 * Writes the grants that owners have to make to the log: one statement for Basalt itself, and one for each
 * table of callers.
 */
export function reportMissingGrants(
  { toBasalt, toCallers }: MissingGrants,
  log: (message: string, detail: object) => void,
): void {
  if (toBasalt.length > 0) {
    log(
      'tables of other owners are not served, not even to administrators: have the owner, or a superuser, run the statement',
      {
        tables: toBasalt.flatMap(({ tables }) => tables),
        run: toBasalt.map(({ owner, statement }) => ({ as: owner, statement })),
      },
    )
  }
  if (toCallers.length > 0) {
    const statements = toCallers.flatMap(({ owner, table, statement }) =>
      statement === undefined ? [] : [{ as: owner, table, statement }],
    )
    log(
      'tables of other owners are closed to callers: for each one that they are to use, write its policies, and have ' +
        'its owner run its statement. Row-level security holds for every role that does not own the table',
      {
        tables: toCallers.map(({ table }) => table),
        run: statements.slice(0, shownStatements),
        ...(statements.length > shownStatements ? { likewise: statements.length - shownStatements } : {}),
      },
    )
  }
}
