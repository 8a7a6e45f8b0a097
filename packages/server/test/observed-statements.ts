import { Connection } from '../src/database/connection/connection.ts'
import { type RenderedSql, render } from '../src/database/sql.ts'

/** Reports every statement of this process, and its connection, before it is sent unchanged. */
export function observeStatements(note: (statement: RenderedSql, connection: Connection) => void) {
  const { query, sendEach } = Connection.prototype
  Connection.prototype.query = function (this: Connection, statement) {
    const rendered = 'text' in statement ? statement : render(statement)
    note(rendered, this)
    return query.call(this, rendered) as never // Its row type is the caller's.
  }
  Connection.prototype.sendEach = function (this: Connection, outgoing) {
    for (const { calls } of outgoing)
      for (const { statement, values } of calls) note({ text: statement.text, values }, this)
    sendEach.call(this, outgoing)
  }
  return { stop: () => void Object.assign(Connection.prototype, { query, sendEach }) }
}
