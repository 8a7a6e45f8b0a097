import { isClosed, isUnguarded } from './changes.ts'
import type { Catalog, DatabaseFunction, Relation } from './model.ts'

/** What of the exposed schemas an operator may not mean to be as open as it is. Names as the API addresses things. */
export interface Advisories {
  /** Tables that every signed-in caller reaches past policies. */
  readonly tablesWithoutRls: readonly string[]
  /** Tables that requests without a token reach past policies. */
  readonly publicTablesWithoutRls: readonly string[]
  /** Relations that `database.require_rls` keeps from callers. */
  readonly closedWithoutRls: readonly string[]
  /**
   * Functions with the rights of their owner that find names by the search path of their callers (PostgreSQL, CREATE
   * FUNCTION, Writing SECURITY DEFINER Functions Safely).
   */
  readonly definersWithoutSearchPath: readonly string[]
  /** Functions that PUBLIC may execute, as it may every new one: all signed-in callers may call them. */
  readonly functionsOfPublic: readonly string[]
}

/** For the start; the advisors say the same with the statements that mend it. Pure. */
export function advise(catalog: Catalog): Advisories {
  const namesOf = (found: readonly Relation[]) => found.map(({ collection }) => collection)
  return {
    tablesWithoutRls: namesOf(unguardedTables(catalog, 'callers')),
    publicTablesWithoutRls: namesOf(unguardedTables(catalog, 'anonymous')),
    closedWithoutRls: namesOf(closedRelations(catalog)),
    definersWithoutSearchPath: procedureNames(openDefiners(catalog)),
    functionsOfPublic: procedureNames(functionsOfPublic(catalog)),
  }
}

export function unguardedTables({ relations }: Catalog, from: 'callers' | 'anonymous'): Relation[] {
  return [...relations.values()].filter((table) => isUnguarded(table, from))
}

export function closedRelations({ relations }: Catalog): Relation[] {
  return [...relations.values()].filter(isClosed)
}

export function openDefiners({ functions }: Catalog): DatabaseFunction[] {
  return functions.filter(({ isOpenDefiner }) => isOpenDefiner)
}

export function functionsOfPublic({ functions }: Catalog): DatabaseFunction[] {
  return functions.filter(({ callersMayExecute, publicMayExecute }) => callersMayExecute && publicMayExecute)
}

function procedureNames(functions: readonly { readonly procedure: string }[]): string[] {
  return [...new Set(functions.map(({ procedure }) => procedure))]
}
