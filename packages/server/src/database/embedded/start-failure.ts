/**
 * Messages to a client that connects too early or too late. Another process that starts the same cluster may
 * have caused them: all processes of a data directory share one log.
 */
const rejectedConnection = /^the database system is /

/**
 * Returns the reason why Postgres did not start: the first fatal message of the log with its detail, else the
 * first line of pg_ctl's output.
 */
export function startFailure(log: string, output: string): string {
  for (const [, message = '', text = ''] of log.matchAll(/((?:FATAL|PANIC): +(.*)(?:\n.* DETAIL: .*)?)/g))
    if (!rejectedConnection.test(text)) return message.replace(/\n.* DETAIL: +/, ': ').trimEnd()
  return (/\S.*/.exec(output)?.[0] ?? '').trimEnd()
}
