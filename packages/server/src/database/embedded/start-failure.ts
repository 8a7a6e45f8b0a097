/**
 * Messages to a client that connects too early or too late. Another process that starts the same cluster may
 * have caused them: all processes of a data directory share one log.
 */
const rejectedConnection = /^\w+: +the database system is /

/**
 * Returns the reason why Postgres did not start: the first fatal message of the log with its detail, else the
 * first line of pg_ctl's output.
 */
export function startFailure(log: string, output: string): string {
  const reason = messagesOf(log, 'FATAL|PANIC').find((message) => !rejectedConnection.test(message))
  return reason ?? (/\S.*/.exec(output)?.[0] ?? '').trimEnd()
}

/**
 * Returns the messages in a log of PostgreSQL, each with its detail in one line.
 *
 * @param severities alternatives of a regular expression, such as `FATAL|PANIC`
 */
export function messagesOf(log: string, severities: string): string[] {
  const found = log.match(new RegExp(`(?:${severities}): +.*(?:\\n.*DETAIL: .*)?`, 'g')) ?? []
  return found.map((message) => message.replace(/\n.*DETAIL: +/, ': ').trimEnd())
}
