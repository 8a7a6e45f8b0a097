import type { Relation } from '../../../../database/catalog/model.ts'
import type { Answer, Call, StatementFailed } from '../../../../database/connection/message.ts'
import type { AppError } from '../../../../lib/errors.ts'
import type { Caller } from '../access/caller.ts'
import type { ReadLimits } from '../plan/list.ts'
import type { PlanContext, RowsPlan } from '../plan/rows.ts'
import type { StatementCache } from '../statement-cache.ts'

/** What a list asks of the database and how it shows the answer; the same for every caller with the same rights. */
export interface ListRequest {
  /** The collection first, then what else is read. */
  readonly relations: readonly Relation[]
  readonly rows: RowsPlan
  /** Whether the client learns how long the database took. */
  readonly isTimed?: boolean
  /** Statements; a function where they depend on a vector. */
  readonly calls: readonly Call[] | MakeCalls
  /** The error of a failure that neither the operator's definitions nor a value of the client caused. */
  explain?(failure: StatementFailed): AppError | undefined
  /** The body around the items as Postgres wrote them. */
  format(answers: readonly Answer[]): string
}

/**
 * Makes the statements of a list, at once unless something outside of the database has to be asked first.
 *
 * @param nearest the vector of the query as it was sent
 * @throws AppError invalid_parameter, dimension_mismatch
 */
type MakeCalls = (caller: Spender, nearest: string) => readonly Call[] | Promise<readonly Call[]>

/** What lists are planned and sent with, beside the query. */
export interface ListContext extends PlanContext {
  readonly statements: StatementCache
  readonly limits: ReadLimits
  /** Undefined when no provider of embeddings is configured. */
  readonly embedder?: QueryEmbedder | undefined
}

/** What of a caller a search by meaning needs: who is counted, and whether the client waits. */
export type Spender = Pick<Caller, 'signal' | 'scope' | 'origin'>

/** Makes vectors of the texts that clients search for. */
export interface QueryEmbedder {
  /** As configured; undefined: whatever the model has. */
  readonly dimensions: number | undefined
  /**
   * @param spender who is counted for a text that costs; undefined: an administrator
   * @throws AppError embedding_…, no_embedding
   */
  embed(text: string, signal?: AbortSignal, spender?: string): Promise<readonly number[]>
}
