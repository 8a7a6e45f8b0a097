import { isUnguarded } from './changes.ts'
import type { Catalog, Relation } from './model.ts'

/** What of the exposed schemas an operator may not mean to be as open as it is. Names as the API addresses things. */
export interface Advisories {
  /** Tables that every signed-in caller reaches past policies. */
  readonly tablesWithoutRls: readonly string[]
  /** Tables that requests without a token reach past policies. */
  readonly publicTablesWithoutRls: readonly string[]
  /**
   * Functions with the rights of their owner that find names by the search path of their callers (PostgreSQL, CREATE
   * FUNCTION, Writing SECURITY DEFINER Functions Safely).
   */
  readonly definersWithoutSearchPath: readonly string[]
  /** Functions that PUBLIC may execute, as it may every new one: all signed-in callers may call them. */
  readonly functionsOfPublic: readonly string[]
}

/** Pure. */
export function advise({ relations, functions }: Catalog): Advisories {
  const tables = [...relations.values()]
  const namesOf = (found: readonly Relation[]) => found.map(({ collection }) => collection)
  const callable = functions.filter(({ callersMayExecute }) => callersMayExecute)
  return {
    tablesWithoutRls: namesOf(tables.filter((table) => isUnguarded(table, 'callers'))),
    publicTablesWithoutRls: namesOf(tables.filter((table) => isUnguarded(table, 'anonymous'))),
    definersWithoutSearchPath: procedureNames(functions.filter(({ isOpenDefiner }) => isOpenDefiner)),
    functionsOfPublic: procedureNames(callable.filter(({ publicMayExecute }) => publicMayExecute)),
  }
}

function procedureNames(functions: readonly { readonly procedure: string }[]): string[] {
  return [...new Set(functions.map(({ procedure }) => procedure))]
}
