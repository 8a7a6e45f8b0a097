import type { Relation } from '../../../../database/catalog/model.ts'
import type { Answer, Call, StatementFailed } from '../../../../database/connection/message.ts'
import type { AppError } from '../../../../lib/errors.ts'
import type { Caller } from '../access/caller.ts'
import type { ReadLimits } from '../plan/list.ts'
import type { PlanContext, RowsPlan } from '../plan/rows.ts'
import type { StatementCache } from '../statement-cache.ts'

/** Statements of a list and the formatting of its response; the same for every caller with the same privileges. */
export interface ListRequest {
  /** Relations of the list: the collection first, then the others that are read. */
  readonly relations: readonly Relation[]
  readonly rows: RowsPlan
  /** True if the client learns how long the database took. */
  readonly isTimed?: boolean
  /** Statements; a function where they depend on a vector. */
  readonly calls: readonly Call[] | MakeCalls
  /** Returns the error of a failure that neither the operator's definitions nor a client value caused. */
  explain?(failure: StatementFailed): AppError | undefined
  /** Formats the body around the items, which stay as PostgreSQL wrote them. */
  format(answers: readonly Answer[]): string
}

/**
 * Function that makes the statements of a list. It is synchronous unless a service outside the database must be
 * called first.
 *
 * @param nearest the vector of the query as it was sent
 * @throws AppError invalid_parameter, dimension_mismatch
 */
type MakeCalls = (caller: Spender, nearest: string) => readonly Call[] | Promise<readonly Call[]>

/** Context in which lists are planned and sent, beside the query. */
export interface ListContext extends PlanContext {
  readonly statements: StatementCache
  readonly limits: ReadLimits
  /** Embedder; undefined when no embedding provider is configured. */
  readonly embedder?: QueryEmbedder | undefined
}

/** Caller of a search by meaning: its quota and whether its client still waits. */
export type Spender = Pick<Caller, 'signal' | 'scope' | 'origin'>

/** Embedder of the texts that clients search for. */
export interface QueryEmbedder {
  /** Configured number of dimensions; undefined for that of the model. */
  readonly dimensions: number | undefined
  /**
   * Returns the vector of a text.
   *
   * @param spender whose quota a text costs; undefined for an administrator
   * @throws AppError embedding_…, no_embedding
   */
  embed(text: string, signal?: AbortSignal, spender?: string): Promise<readonly number[]>
}
