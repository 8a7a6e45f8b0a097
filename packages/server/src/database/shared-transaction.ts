import type { CallerContexts } from './caller/caller-context.ts'
import type { CallerScope, Origin } from './caller/caller-scope.ts'
import { becomeLogin, sendSteps } from './caller/caller-steps.ts'
import type { Connection } from './connection/connection.ts'
import { type Call, statement } from './connection/message.ts'
import { type InteractiveTransaction, type UndoableSteps, undoableSteps } from './undoable-steps.ts'

/** Login role of the sessions of a scope; undefined if it is the owner. */
export type LoginOf = (scope: CallerScope) => string | undefined

const withoutToken: CallerScope = { kind: 'anonymous' }
const enforcePolicies: Call = {
  statement: statement("select set_config('row_security', 'on', true)"),
  values: [],
}
/** Setting that a person at a breakpoint needs. */
const stayOpen = "set local idle_in_transaction_session_timeout = '1h'"

/**
 * Transaction of several callers, which is always rolled back; for tests of functions. Its session is that of the owner. A superuser
 * takes the login of each caller, so that statements have the same rights as in a request. Another owner keeps its own login.
 */
export class SharedTransaction {
  readonly #connection: Connection
  readonly #steps: UndoableSteps

  private constructor(
    connection: Connection,
    callsFor: (scope: CallerScope, origin?: Origin) => readonly Call[],
  ) {
    this.#connection = connection
    this.#steps = undoableSteps({
      send(calls, steps, identity) {
        const send = (sent: readonly Call[]) => connection.send(sent)
        if (steps.length === 0) return send(calls)
        if (identity === undefined) throw new Error('a step has no caller')
        const { scope, origin } = identity
        // The end of a savepoint restores the settings of its beginning, so each message sets them.
        return sendSteps(send, scope, steps, { before: [...calls, ...callsFor(scope, origin)] })
      },
    })
  }

  /** Begins a transaction on a connection of the owner, and closes the connection if that fails. */
  static async begin(
    connection: Connection,
    { contexts, loginOf }: { readonly contexts: CallerContexts; readonly loginOf: LoginOf },
  ): Promise<SharedTransaction> {
    try {
      await connection.script(`begin; ${stayOpen}`)
      const [{ rows: [found] = [] } = {}] = await connection.script(
        "select current_setting('is_superuser') = 'on' as takes_logins",
      )
      const takesLogins = (found as { takes_logins?: unknown } | undefined)?.takes_logins === true
      const takeLogin = (scope: CallerScope): readonly Call[] => {
        const login = takesLogins ? loginOf(scope) : undefined
        return login === undefined ? [] : [setLogin(login)]
      }
      return new SharedTransaction(connection, (scope, origin) => [
        // The claims of the caller before this one are cleared.
        ...takeLogin(withoutToken),
        ...contexts.callsFor(withoutToken),
        ...(scope.kind === 'unrestricted' ? [...takeLogin(scope), becomeLogin] : [enforcePolicies]),
        ...contexts.callsFor(scope, origin),
      ])
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /** Returns the transaction for statements of a caller. Those of several callers must not overlap. */
  as(scope: CallerScope, origin: Origin | undefined): InteractiveTransaction {
    const asCaller = ({ run, nest }: InteractiveTransaction): InteractiveTransaction => ({
      run: (steps, accept, identity = { scope, origin }) => run(steps, accept, identity),
      nest: (work) => nest((inner) => work(asCaller(inner))),
    })
    return asCaller(this.#steps.transaction)
  }

  /** Rolls back, after the statement in flight, and closes the connection. */
  async end(): Promise<void> {
    await this.#steps.end()
    await this.#connection.script('rollback').catch(() => undefined)
    await this.#connection.close()
  }
}

function setLogin(role: string): Call {
  return { statement: statement(`set local session authorization ${role}`), values: [] }
}
