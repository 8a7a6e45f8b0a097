import type { Logger } from 'pino'
import type { Relation } from '../../../../database/catalog/model.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { type CallerDependence, readCallerDependence } from '../../../data/policies/index.ts'

/** Terms by which the policies of tables distinguish callers, cached for the life of a catalog snapshot. */
export class CallerDependences {
  readonly #database: Queryable
  readonly #log: Logger
  readonly #known = new WeakMap<Relation, Promise<CallerDependence | undefined>>()

  constructor(database: Queryable, log: Logger) {
    this.#database = database
    this.#log = log
  }

  /** Returns the terms of a table. Returns undefined if every caller needs a decision of its own. */
  of(relation: Relation): Promise<CallerDependence | undefined> {
    const known = this.#known.get(relation)
    if (known !== undefined) return known
    const reading = readCallerDependence(this.#database, relation).catch((error) => {
      this.#known.delete(relation)
      this.#log.warn(
        { table: relation.collection, reason: messageOf(error) },
        'failed to read the expressions of policies; deciding for each caller; retrying with the next event',
      )
      return undefined
    })
    this.#known.set(relation, reading)
    return reading
  }
}
