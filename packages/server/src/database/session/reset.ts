import { type Call, statement } from '../connection/message.ts'
import { preparedAtStart } from '../connection/probe.ts'

/**
 * What `discard all` does (PostgreSQL, DISCARD), without throwing our own prepared statements away and where `discard all`
 * itself is refused: in a transaction, and after other statements of a message. The settings come first: a statement
 * timeout that was left behind must not end the rest.
 */
const resets: readonly string[] = [
  'reset session authorization',
  'reset role',
  'reset all',
  'close all',
  'unlisten *',
  'discard temp',
  'discard sequences',
  // The last one seeds the generator that `setseed` has made predictable.
  `select pg_catalog.pg_advisory_unlock_all(),
    pg_catalog.setseed(('x' || pg_catalog.left(pg_catalog.gen_random_uuid()::text, 8))::bit(32)::int / 2147483648.0::float8)`,
]

/** Statements prepared by SQL (PostgreSQL, PREPARE), and not by the protocol, as ours are. */
const deallocation = `do $deallocate$
  declare
    prepared text;
  begin
    for prepared in select name from pg_catalog.pg_prepared_statement() where from_sql loop
      execute pg_catalog.format('deallocate %I', prepared);
    end loop;
  end $deallocate$`

/** A pooler keeps sessions that it opened with settings of its own. */
const encoding = `set client_encoding to 'UTF8'`

export interface ResetOptions {
  /** True if some function may prepare statements: to look for them takes a microsecond for each prepared one. */
  readonly mayPrepare: boolean
  readonly isPooled: boolean
}

/** Makes the session as a new one, as texts of statements. */
export function resetTexts({ mayPrepare, isPooled }: ResetOptions): readonly string[] {
  return [...resets, ...(mayPrepare ? [deallocation] : []), ...(isPooled ? [encoding] : [])]
}

export function resetCalls(options: ResetOptions): readonly Call[] {
  const calls = resetTexts(options).map(call)
  // It fails after `deallocate all`, with which our own statements are gone: such a connection is closed.
  return options.mayPrepare && !options.isPooled ? [preparedAtStart, ...calls] : calls
}

/** What `currval` and `lastval` answer: what others have drawn is nothing to the operator's code that follows. */
export const discardSequences: Call = call('discard sequences')
/** What waits for the commit runs before the reset. */
export const checkConstraints: Call = call('set constraints all immediate')
export const rollback: Call = call('rollback')
/** Another transaction begins at once, so that a pooler does not hand the session to another client in between. */
export const rollbackAndChain: Call = call('rollback and chain')

function call(text: string): Call {
  return { statement: statement(text), values: [] }
}
