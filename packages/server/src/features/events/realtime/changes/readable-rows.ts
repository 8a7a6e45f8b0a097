import type { Logger } from 'pino'
import { arrayLiteral } from '../../../../database/array-literal.ts'
import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Relation } from '../../../../database/catalog/model.ts'
import { type Answer, type Statement, statement } from '../../../../database/connection/message.ts'
import { describeReason } from '../../../../database/errors/definition-faults.ts'
import { render, sql } from '../../../../database/sql.ts'
import { SnapshotUnavailable, type UserDatabase } from '../../../../database/user-database.ts'
import { sliceObject } from '../../../../lib/json-slices.ts'
import { RecentKeys } from '../../../../lib/recent-keys.ts'
import { privilegesOf } from '../../../data/collections/index.ts'
import type { CallerDependence, PolicyReader } from '../../../data/policies/index.ts'
import {
  columnsOfPolicies,
  compileVisible,
  compileVisibleToUnnamed,
  readsRelations,
} from './decision-statements.ts'
import { type Row, toJsonArray, wholeRow } from './event-rows.ts'
import type { HeldSnapshot } from './held-snapshots.ts'
import type { Caller } from './shared-rows.ts'
import { isUndecidable, sqlStateOf } from './verdict-failures.ts'

/** Evaluator of policies over the rows of events. */
export class ReadableRows {
  readonly #user: UserDatabase
  readonly #log: Logger
  readonly #logged = new RecentKeys(60_000)
  /** Compiled statements. A relation lives as long as its snapshot of the catalog. */
  readonly #visible = {
    caller: new WeakMap<Relation, Statement | undefined>(),
    anonymous: new WeakMap<Relation, Statement | undefined>(),
    unnamed: new WeakMap<Relation, Statement | undefined>(),
  }

  constructor(user: UserDatabase, log: Logger) {
    this.#user = user
    this.#log = log
  }

  /**
   * Returns the rows of one table that policies let the identity read.
   *
   * @param before the state before the events; undefined if it cannot be read
   * @param onUndecided called with rows that cannot be decided, which are left out
   * @throws StatementFailed, ConnectionLost, PoolExhausted while the database cannot decide
   */
  async find(
    relation: Relation,
    scope: CallerScope,
    rows: readonly Row[],
    before: HeldSnapshot | undefined,
    onUndecided: OnUndecided,
  ): Promise<readonly Row[]> {
    if (scope.kind === 'unrestricted') return rows
    if (!privilegesOf(relation, scope.kind).select || relation.rlsGap !== undefined) return []
    if (!relation.rlsEnabled) return rows
    const visible = this.#statementOf(relation, scope.kind)
    if (visible === undefined) return []
    const evaluation = { visible, table: relation.collection, onUndecided }
    const run = async (step: Step) => (await this.#user.run(scope, [step], { isRead: true }))[0]
    const found = await this.#evaluate({ ...evaluation, run }, rows)
    if (!readsRelations(relation, scope.kind)) return found
    const known = new Set(found)
    const columns = columnsOfPolicies(relation, scope.kind)
    const hidden = rows.filter((row) => !known.has(row) && mayHaveHidden(row, columns))
    if (hidden.length === 0) return found
    if (before === undefined) {
      onUndecided(hidden)
      return found
    }
    const snapshot = await before.exported().catch(() => '')
    const runBefore = async (step: Step) => (await this.#user.runAt(snapshot, scope, [step]))[0]
    return [...found, ...(await this.#evaluate({ ...evaluation, run: runBefore }, hidden))]
  }

  /**
   * Returns the rows that policies let a caller read. None of the rows names the caller.
   *
   * @throws HelpersChanged if the policies now mean something else, and the errors of {@link find}
   */
  async findUnnamed(
    relation: Relation,
    { helpers }: CallerDependence,
    caller: Caller,
    rows: readonly Row[],
    onUndecided: OnUndecided,
  ): Promise<readonly Row[]> {
    if (!privilegesOf(relation, 'caller').select || relation.rlsGap !== undefined) return []
    if (!relation.rlsEnabled) return rows
    const visible = this.#statementOf(relation, 'unnamed')
    if (visible === undefined) return []
    const oids = arrayLiteral(helpers.map(({ oid }) => oid))
    const versions = arrayLiteral(helpers.map(({ version }) => version))
    const run = async ({ statement, values }: Step) => {
      const step = { statement, values: [...values, versions, oids] }
      const [answer] = await this.#user.run(caller, [step], { isRead: true })
      if (answer?.rows.some(([ordinal]) => ordinal === '0') !== true) throw new HelpersChanged()
      return answer
    }
    return await this.#evaluate({ run, visible, table: relation.collection, onUndecided }, rows)
  }

  /** Evaluates the policies. A policy that fails on a row hides this row and no other. */
  async #evaluate(evaluation: Evaluation, rows: readonly Row[]): Promise<readonly Row[]> {
    const { run, visible, table, onUndecided } = evaluation
    try {
      const answer = await run({ statement: visible, values: [toJsonArray(rows)] })
      return (answer?.rows ?? []).flatMap(([ordinal]) => rows[Number(ordinal) - 1] ?? [])
    } catch (error) {
      if (error instanceof SnapshotUnavailable) {
        onUndecided(rows)
        return []
      }
      if (!isUndecidable(error)) throw error
      if (rows.length === 1) {
        const reason = describeReason(error)
        if (this.#logged.isNew(`${table} ${reason}`)) {
          this.#log.warn({ table, reason }, 'a policy failed on a changed record')
        }
        onUndecided(rows)
        return []
      }
      const middle = Math.ceil(rows.length / 2)
      const first = await this.#evaluate(evaluation, rows.slice(0, middle))
      // An error that does not depend on the row need not be repeated for every row.
      if (first.length === 0 && !isAboutValue(error)) {
        onUndecided(rows)
        return []
      }
      return [...first, ...(await this.#evaluate(evaluation, rows.slice(middle)))]
    }
  }

  /** Returns the statement of a relation; undefined if no policy permits anything. */
  #statementOf(relation: Relation, reader: PolicyReader | 'unnamed'): Statement | undefined {
    const known = this.#visible[reader]
    if (!known.has(relation)) {
      const parameter = sql`${''}`
      const compiled =
        reader === 'unnamed'
          ? compileVisibleToUnnamed(relation, parameter, { versions: parameter, oids: parameter })
          : compileVisible(relation, reader, parameter)
      // The rows have the type of the table, which changes when the table is created again.
      known.set(relation, compiled && statement(render(compiled).text, relation.version))
    }
    return known.get(relation)
  }
}

/** Statement that evaluates the policies of one table. */
interface Evaluation {
  readonly run: (step: Step) => Promise<Answer | undefined>
  readonly visible: Statement
  readonly table: string
  readonly onUndecided: OnUndecided
}

type OnUndecided = (rows: readonly Row[]) => void

/** Error for a function called by policies that has changed since their analysis. */
export class HelpersChanged extends Error {}

/**
 * Returns true if the event itself may have hidden the row: a delete, or an update of a column that policies read.
 * After any other update the row is as visible as before in every state of other tables. Their own changes are not
 * events of this table.
 */
function mayHaveHidden({ event, isOld, json }: Row, columns: readonly string[] | undefined): boolean {
  if (!isOld) return false
  if (event.action === 'delete' || columns === undefined) return true
  const [before, after] = [sliceObject(json), sliceObject(wholeRow(event))]
  return columns.some((column) => before.get(column) !== after.get(column))
}

/**
 * Returns true if the error may depend on the row, like data exceptions and errors that functions raise. Errors about
 * names and rights do not.
 */
function isAboutValue(error: unknown): boolean {
  return !/^(0A|3F|42)/.test(sqlStateOf(error) ?? '')
}
