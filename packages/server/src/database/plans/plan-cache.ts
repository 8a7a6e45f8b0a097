import type { SizeCheck } from '../caller/caller-context.ts'
import type { CallerScope } from '../caller/caller-scope.ts'
import type { Step } from '../caller/caller-steps.ts'
import { type Answer, type Call, type Statement, statement, statementName } from '../connection/message.ts'
import { quoteLiteral } from '../sql.ts'
import { expectedRows, PlanClasses, type RelationClasses, smallSize } from './plan-classes.ts'

const findClass = statement('select basalt.plan_class($1)')

/** Class of a relation's callers for a statement; undefined where it is unknown. */
interface ChosenClass {
  readonly relation: RelationClasses
  /** Empty where the plan does not depend on the caller. */
  readonly name: string | undefined
  /** True if PostgreSQL has to compare it when it makes a plan. */
  readonly isGuarded: boolean
}

/** Steps of a run with the statements whose plans fit its caller. */
export interface PlannedSteps {
  readonly steps: readonly Step[]
  /** Check before the steps, which fails if a cached plan was made for another size. */
  readonly check: SizeCheck | undefined
  /** Calls after the steps, whose results {@link PlanCache.learn} stores. */
  readonly classQueries: readonly { readonly relation: RelationClasses; readonly call: Call }[]
}

/**
 * Cache that chooses the cached plan for each statement of a caller (see
 * docs/decisions/0041-plans-by-class-of-caller.md). Plans are cached by class of caller and size of the
 * relations. A statement is planned anew where the class is unknown.
 */
export class PlanCache {
  readonly #classes = new PlanClasses()
  readonly #variants = new WeakMap<Statement, Map<string, Statement>>()

  /**
   * Chooses the statements of the steps.
   *
   * @param mayQueryClasses whether calls may follow the steps; otherwise a caller's class stays unknown
   */
  plan(scope: CallerScope, steps: readonly Step[], mayQueryClasses: boolean): PlannedSteps {
    const checked: RelationClasses[] = []
    const classQueries: { relation: RelationClasses; call: Call }[] = []
    const planned = steps.map((step): Step => {
      const { reads } = step.statement
      if (reads.length === 0 || step.asLogin === true) return step
      const classes = reads.map(({ oid, isRestricted }) => {
        const relation = this.#classes.relation(scope, oid)
        if (this.#classes.takeSizeCheck(relation)) checked.push(relation)
        const isQueried = classQueries.some((query) => query.relation === relation)
        return this.#choose(scope, relation, isRestricted, () => {
          if (mayQueryClasses && !isQueried)
            classQueries.push({ relation, call: { statement: findClass, values: [oid] } })
        })
      })
      const { forFew } = step
      const isForFew = forFew !== undefined && expectedRows(classes[0]?.name ?? '') <= forFew.rows
      const { statement, values } = isForFew ? forFew.call() : step
      const chosen = this.#variant(statement, scope, classes)
      return chosen === step.statement ? step : { ...step, statement: chosen, values }
    })
    const check =
      checked.length === 0
        ? undefined
        : { relations: checked.map(({ oid }) => oid), sizes: checked.map(({ size }) => size) }
    return { steps: planned, check, classQueries }
  }

  /** Returns the same steps, planned anew, for transactions that cannot be sent again. */
  planAnew(scope: CallerScope, steps: readonly Step[]): readonly Step[] {
    return steps.map((step) => {
      const { reads } = step.statement
      const isKept = reads.every(({ oid }) => this.#classes.relation(scope, oid).size === smallSize)
      return isKept || step.asLogin === true ? step : { ...step, statement: this.#anew(step.statement) }
    })
  }

  learn(scope: CallerScope, { classQueries }: PlannedSteps, answers: readonly Answer[]): void {
    classQueries.forEach(({ relation }, index) => {
      const found = answers[index]?.rows[0]?.[0]
      if (found != null) this.#classes.learn(scope, relation, found)
    })
  }

  /** Returns true if the failure shows that a cached plan does not fit. The steps are then planned again. */
  learnFrom(scope: CallerScope, error: unknown): boolean {
    return this.#classes.learnFrom(scope, error)
  }

  /** Chooses the class of a caller. @param queryClass called when it is unknown */
  #choose(
    scope: CallerScope,
    relation: RelationClasses,
    isRestricted: boolean,
    queryClass: () => void,
  ): ChosenClass {
    if (relation.size === smallSize) return { relation, name: '', isGuarded: false }
    if (!isRestricted || scope.kind === 'unrestricted') {
      return { relation, name: relation.size, isGuarded: false }
    }
    const known = this.#classes.classOf(scope, relation)
    if (known === undefined) queryClass()
    // Most callers have few rows; one with many is slow once.
    return { relation, name: known ?? relation.few, isGuarded: true }
  }

  #variant(original: Statement, { kind }: CallerScope, classes: readonly ChosenClass[]): Statement {
    const names = classes.map(({ name }) => name)
    if (names.includes(undefined)) return this.#anew(original)
    const isSmall = names.every((name) => name === '')
    // PostgreSQL plans anew for another role than the last, so each role has its own statement.
    if (isSmall && kind === 'caller') return original
    return this.#remember(original, `${kind} ${names.join(' ')}`, (key) => {
      const guards = classes
        .filter(({ isGuarded }) => isGuarded)
        .map(({ relation, name }) => `basalt.planned_for(${relation.oid}, ${quoteLiteral(name ?? '')})`)
      const text = guards.length === 0 ? original.text : guarded(original.text, guards.join(' and '))
      return { ...original, text, name: statementName(`${original.name} ${key}`) }
    })
  }

  #anew(original: Statement): Statement {
    return this.#remember(original, '', () => ({ ...original, name: '' }))
  }

  #remember(original: Statement, key: string, make: (key: string) => Statement): Statement {
    let variants = this.#variants.get(original)
    if (variants === undefined) {
      variants = new Map()
      this.#variants.set(original, variants)
    }
    let variant = variants.get(key)
    if (variant === undefined) {
      variant = make(key)
      variants.set(key, variant)
    }
    return variant
  }
}

/**
 * Returns the query with a condition that PostgreSQL evaluates when it makes a cached plan. A custom plan for
 * the values of one execution is not cached: there the parameter is known, and the condition is removed
 * unevaluated.
 */
function guarded(text: string, guard: string): string {
  const isForValues = /\$1\b/.test(text) ? `case when $1 is not null then true else ${guard} end` : guard
  return `select * from (${text}\n) kept where ${isForValues}`
}
