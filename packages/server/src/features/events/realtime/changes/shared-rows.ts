import { randomUUID } from 'node:crypto'
import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import { sliceObject } from '../../../../lib/json-slices.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import {
  type CallerDependence,
  columnsOfTerm,
  excludesUnnamed,
  idsNamedBy,
} from '../../../data/policies/index.ts'
import type { Row } from './event-rows.ts'

/** Caller with a token, as policies see one. */
export type Caller = Extract<CallerScope, { readonly kind: 'caller' }>

/** Decision about rows for all callers whom they do not name. */
export interface SharedVerdict {
  /** Body of the event for each row that they may read. */
  readonly bodies: ReadonlyMap<Row, string>
  /** Rows on which a policy failed. */
  readonly undecided: ReadonlySet<Row>
}

/** Function that queries PostgreSQL for the rows readable by the caller. */
export type DecideShared = (rows: readonly Row[], caller: Caller) => Promise<SharedVerdict>

/** Returns the id of a caller as columns hold it; undefined for a program without a user. */
export function comparableId(scope: CallerScope): string | undefined {
  if (scope.kind !== 'caller' || !isUuid(scope.userId)) return undefined
  return scope.userId === scope.userId.toLowerCase() ? scope.userId : undefined
}

/**
 * Rows of one table in a batch, whose policies distinguish callers only by known terms. To such policies a caller whom
 * a row does not name is equal to any other with the same claims, so PostgreSQL decides once for all of them. It is not
 * queried if the terms permit none of them.
 */
export class SharedRows {
  /** Ids that rows name; undefined if that is unknown because a column is missing. */
  readonly names: ReadonlySet<string> | undefined
  readonly #dependence: CallerDependence
  readonly #ids = new Map<Row, ReadonlySet<string> | undefined>()
  /** Rows that callers other than the named ones may be permitted to read. */
  readonly #open = new Set<Row>()
  readonly #decide: DecideShared
  readonly #verdicts = new Map<string, Promise<SharedVerdict>>()

  constructor(dependence: CallerDependence, rows: readonly Row[], decide: DecideShared) {
    this.#dependence = dependence
    this.#decide = decide
    const { term } = dependence
    const readsRow = columnsOfTerm(term).length > 0
    const names = new Set<string>()
    let isKnown = true
    for (const row of rows) {
      const members = readsRow ? sliceObject(row.json) : new Map<string, string>()
      const ids = idsNamedBy(term, members)
      this.#ids.set(row, ids)
      isKnown &&= ids !== undefined
      for (const id of ids ?? []) names.add(id)
      if (ids !== undefined && !excludesUnnamed(term, members)) this.#open.add(row)
    }
    this.names = isKnown ? names : undefined
  }

  /** True if callers whom no row names may read none of the rows. */
  get isForNamedOnly(): boolean {
    return this.#open.size === 0 && this.names !== undefined
  }

  /**
   * Returns the claims of a caller that policies use beside the id; undefined if the caller needs a decision of its
   * own.
   */
  classOf(scope: CallerScope): string | undefined {
    if (scope.kind !== 'caller') return undefined
    const { namesCaller, claims } = this.#dependence
    if (namesCaller && comparableId(scope) === undefined) return undefined
    return claims.size === 0 ? '' : JSON.stringify([...claims].map((claim) => scope[claim]))
  }

  /** Returns true if a row may name the caller. */
  mayName(scope: CallerScope): boolean {
    return scope.kind === 'caller' && this.names?.has(scope.userId) !== false
  }

  /** Splits rows into those that name the caller and those decided once for all other callers. */
  split(rows: readonly Row[], { userId }: Caller) {
    const own = new Set(rows.filter((row) => this.#ids.get(row)?.has(userId) ?? true))
    return { own: [...own], shared: rows.filter((row) => this.#open.has(row) && !own.has(row)) }
  }

  /** Returns what callers of the scope’s class receive of the open rows that do not name them. */
  verdictFor(scope: Caller): Promise<SharedVerdict> {
    const key = this.classOf(scope) ?? ''
    const known = this.#verdicts.get(key)
    if (known !== undefined) return known
    const { aal, isEmailVerified, isAnonymous } = scope
    // The id is random, so no row can name it.
    const caller: Caller = {
      ...{ kind: 'caller', userId: randomUUID(), email: '', sessionId: '' },
      ...{ aal, isEmailVerified, isAnonymous },
    }
    const verdict = this.#decide([...this.#open], caller)
    this.#verdicts.set(key, verdict)
    // The next attempt queries again.
    verdict.catch(() => this.#verdicts.delete(key))
    return verdict
  }
}
