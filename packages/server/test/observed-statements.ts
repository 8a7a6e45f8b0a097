import { Connection } from '../src/database/connection.ts'
import { type RenderedSql, render } from '../src/database/sql.ts'

/**
 * Reports every statement that leaves this process, unchanged, and collects what long intervals run.
 *
 * @param slowMs intervals of so long and more are collected
 */
export function observeStatements(note: (statement: RenderedSql) => void, slowMs: number) {
  const { query, sendEach } = Connection.prototype
  const { setInterval } = globalThis
  const slowTimers: (() => void)[] = []
  Connection.prototype.query = function (this: Connection, statement) {
    const rendered = 'text' in statement ? statement : render(statement)
    note(rendered)
    return query.call(this, rendered) as never // Its row type is the caller's.
  }
  Connection.prototype.sendEach = function (this: Connection, outgoing) {
    for (const { calls } of outgoing)
      for (const { statement, values } of calls) note({ text: statement.text, values })
    sendEach.call(this, outgoing)
  }
  const collect = (run: () => void, ms: number) => {
    if (ms >= slowMs) slowTimers.push(run)
    return setInterval(run, ms)
  }
  // Its overloads differ in types of Node alone.
  globalThis.setInterval = collect as typeof setInterval
  return {
    slowTimers,
    stop() {
      Object.assign(Connection.prototype, { query, sendEach })
      globalThis.setInterval = setInterval
    },
  }
}
