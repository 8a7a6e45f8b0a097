import { type Call, statement } from '../connection/message.ts'
import { preparedAtStart } from '../connection/probe.ts'

/**
 * Statements with the effect of `discard all` (PostgreSQL, DISCARD). They keep our own prepared statements, and
 * work where `discard all` is rejected: in a transaction, and after other statements of a message. The settings
 * come first, because a leftover statement timeout must not end the rest.
 */
const resets: readonly string[] = [
  'reset session authorization',
  'reset role',
  'reset all',
  'close all',
  'unlisten *',
  'discard temp',
  'discard sequences',
  // The last function seeds the generator that `setseed` has made predictable.
  `select pg_catalog.pg_advisory_unlock_all(),
    pg_catalog.setseed(('x' || pg_catalog.left(pg_catalog.gen_random_uuid()::text, 8))::bit(32)::int / 2147483648.0::float8)`,
]

/**
 * Statement that deallocates those prepared by SQL (PostgreSQL, PREPARE). Ours are prepared by the protocol.
 */
const deallocation = `do $deallocate$
  declare
    prepared text;
  begin
    for prepared in select name from pg_catalog.pg_prepared_statement() where from_sql loop
      execute pg_catalog.format('deallocate %I', prepared);
    end loop;
  end $deallocate$`

/** Client encoding. A pooler keeps sessions that it opened with settings of its own. */
const encoding = `set client_encoding to 'UTF8'`

export interface ResetOptions {
  /** True if some function may prepare statements. The check takes a microsecond for each prepared one. */
  readonly mayPrepare: boolean
  readonly isPooled: boolean
}

/** Returns the statements that reset a session, as texts. */
export function resetTexts({ mayPrepare, isPooled }: ResetOptions): readonly string[] {
  return [...resets, ...(mayPrepare ? [deallocation] : []), ...(isPooled ? [encoding] : [])]
}

export function resetCalls(options: ResetOptions): readonly Call[] {
  const calls = resetTexts(options).map(call)
  // It fails after `deallocate all`, which has removed our own statements, too. Such a connection is closed.
  return options.mayPrepare && !options.isPooled ? [preparedAtStart, ...calls] : calls
}

/** Reset of `currval` and `lastval`. The operator's code must not see values that other requests have drawn. */
export const discardSequences: Call = call('discard sequences')
/** Check of deferred constraints, which runs before the reset. */
export const checkConstraints: Call = call('set constraints all immediate')
export const rollback: Call = call('rollback')
/**
 * Rollback that begins another transaction at once, so that a pooler does not hand the session to another
 * client in between.
 */
export const rollbackAndChain: Call = call('rollback and chain')

function call(text: string): Call {
  return { statement: statement(text), values: [] }
}
