import { describeOrigin } from './caller/caller-context.ts'
import type { Origin } from './caller/caller-scope.ts'
import { sendSteps } from './caller/caller-steps.ts'
import type { Call } from './connection/message.ts'
import { statement } from './connection/message.ts'
import { administratorRole } from './logins/roles.ts'
import type { SystemTransaction } from './system-database.ts'
import { type UndoableSteps, undoableSteps } from './undoable-steps.ts'

const administrator = { kind: 'unrestricted' } as const

/**
 * Sets the role of administrators, and the origin of writes. Where that role is missing, or the login role may not become it,
 * administrators have the rights of the login role anyway.
 */
const become = statement(`
  select set_config('role', coalesce((
      select r.rolname from pg_roles r
      where r.rolname = '${administratorRole}' and pg_has_role(session_user, r.oid,
        case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end)), 'none'), true),
    set_config('row_security', 'off', true), set_config('basalt.origin', $1, true)`)
const leave: Call = {
  statement: statement(
    "select set_config('role', 'none', true), set_config('row_security', 'on', true), set_config('basalt.origin', '', true)",
  ),
  values: [],
}

/**
 * Returns steps that run as the administrator within a transaction of the server. Their statements must be compiled by the server:
 * the session belongs to the owner, whose role a text of others could set again.
 */
export function administratorSteps(transaction: SystemTransaction, origin: Origin): UndoableSteps {
  const enter: Call = { statement: become, values: [describeOrigin(administrator, origin)] }
  return undoableSteps({
    send(calls, steps) {
      const [before, after] = steps.length === 0 ? [calls, []] : [[...calls, enter], [leave]]
      return sendSteps((sent) => transaction.send(sent), administrator, steps, { before, after })
    },
  })
}
