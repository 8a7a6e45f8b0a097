import { Lru } from '../../lib/lru.ts'
import type { CallerScope } from '../caller/caller-scope.ts'
import { StatementFailed } from '../connection/message.ts'

/** SQLSTATE of a plan made for other callers or another size than those of its use. */
const otherClass = 'BS006'

/** Size class of relations that any plan reads quickly. */
export const smallSize = '0'

/** Number of cached relations. */
const relationLimit = 10_000
/** Number of cached caller classes, over all relations. */
const callerLimit = 50_000
/** Milliseconds for which the size of a relation is trusted. Few rows can be added in less. */
const sizeAgeMs = 250
/** Number of rows up to which a caller with an unknown class may get the plan of a class. */
const fewRows = 1024

/** Size, and class of few rows, of a relation for callers of one kind. */
export interface RelationClasses {
  readonly oid: string
  size: string
  sizedAt: number
  /** Class of the callers with the fewest rows, which most callers have; undefined until one is known. */
  few: string | undefined
  /** Number of events that have invalidated the classes of its callers. */
  generation: number
}

/**
 * Classes of callers by relation, as `basalt.plan_class` names them. They may be out of date: PostgreSQL judges
 * again whenever it makes a cached plan.
 */
export class PlanClasses {
  readonly #relations = new Lru<string, RelationClasses>(relationLimit)
  readonly #callers = new Lru<string, string>(callerLimit)

  relation({ kind }: CallerScope, oid: string): RelationClasses {
    const key = `${kind} ${oid}`
    let known = this.#relations.get(key)
    if (known === undefined) {
      known = { oid, size: smallSize, sizedAt: Number.NEGATIVE_INFINITY, few: undefined, generation: 0 }
      this.#relations.set(key, known)
    }
    return known
  }

  /** Returns true if the size has to be checked; the caller then checks it. */
  takeSizeCheck(relation: RelationClasses): boolean {
    const now = performance.now()
    if (now - relation.sizedAt < sizeAgeMs) return false
    relation.sizedAt = now
    return true
  }

  classOf(scope: CallerScope, relation: RelationClasses): string | undefined {
    return this.#callers.get(callerKey(scope, relation))
  }

  /** Stores the class that a query as the caller has returned. */
  learn(scope: CallerScope, relation: RelationClasses, found: string): void {
    const [size = smallSize] = found.split('.')
    if (size !== relation.size) this.#resize(relation, size)
    if (expectedRows(found) <= fewRows) relation.few = found
    this.#callers.set(callerKey(scope, relation), found)
  }

  /**
   * Learns from a failure that a cached plan does not fit.
   *
   * @returns false for other failures
   */
  learnFrom(scope: CallerScope, error: unknown): boolean {
    if (!(error instanceof StatementFailed) || error.error.code !== otherClass) return false
    const { table = '', detail = '' } = error.error
    const relation = this.relation(scope, table)
    if (!detail.includes('.')) {
      this.#resize(relation, detail)
      return true
    }
    // The statistics have changed since the caller's class was found, and those of others as well.
    if (this.classOf(scope, relation) !== undefined) forget(relation)
    this.learn(scope, relation, detail)
    return true
  }

  #resize(relation: RelationClasses, size: string): void {
    relation.size = size
    forget(relation)
  }
}

/**
 * Returns the maximum number of rows that callers of the class are expected to see, as `basalt.plan_class`
 * names it.
 */
export function expectedRows(name: string): number {
  const [, rows] = name.split('.')
  return rows === undefined ? Number.POSITIVE_INFINITY : 256 * 2 ** Number(rows)
}

function forget(relation: RelationClasses): void {
  relation.generation += 1
  relation.few = undefined
}

function callerKey(scope: CallerScope, { oid, generation }: RelationClasses): string {
  return `${oid} ${generation} ${scope.kind === 'caller' ? scope.userId : scope.kind}`
}
