import { isClosed, isUnguarded } from './changes.ts'
import type { Catalog, DatabaseFunction, Relation } from './model.ts'

/**
 * Findings about the exposed schemas: objects that may be more open than the operator intends. Names are those
 * of the API.
 */
export interface Advisories {
  /** Tables that every signed-in caller can access without policies. */
  readonly tablesWithoutRls: readonly string[]
  /** Tables that requests without a token can access without policies. */
  readonly publicTablesWithoutRls: readonly string[]
  /** Relations that `database.require_rls` closes to callers. */
  readonly closedWithoutRls: readonly string[]
  /**
   * Functions with the rights of their owner that resolve names by the search path of their callers
   * (PostgreSQL, CREATE FUNCTION, Writing SECURITY DEFINER Functions Safely).
   */
  readonly definersWithoutSearchPath: readonly string[]
  /**
   * Functions that PUBLIC may execute, and so all signed-in callers may call. That is PostgreSQL's default for
   * new functions.
   */
  readonly functionsOfPublic: readonly string[]
}

/** Finds the advisories for startup; the advisors return the same with the statements that fix them. Pure. */
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
