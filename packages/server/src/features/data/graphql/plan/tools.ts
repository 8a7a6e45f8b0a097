import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import type { QueryEmbedder, Reader, ReadLimits, SearchDefinitions } from '../../collections/index.ts'
import { graphqlErrors } from '../errors.ts'
import type { TableNames } from '../schema/names.ts'
import type { FieldContext } from './fields.ts'

/** Everything that the fields of an operation are planned with. */
export interface PlanTools {
  readonly catalog: Catalog
  readonly reader: Reader
  readonly searches: SearchDefinitions
  /** Text search configuration, quoted and qualified. */
  readonly language: string
  readonly limits: ReadLimits
  /** Embedder; undefined when no embedding provider is configured. */
  readonly embedder: QueryEmbedder | undefined
  readonly names: ReadonlyMap<Relation, TableNames>
  readonly fields: FieldContext
  readonly cost: Cost
  /** True for callers who see few rows: searches do not use their indexes. */
  readonly isDirect: boolean
}

/** Estimated records of one operation. */
export class Cost {
  readonly #limit: number
  #records = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** @throws AppError graphql_cost_exceeded */
  add(records: number): void {
    this.#records += records
    if (this.#records > this.#limit) throw graphqlErrors.graphqlCostExceeded(this.#records, this.#limit)
  }
}
