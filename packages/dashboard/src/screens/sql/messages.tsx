import { formatDuration } from '../../ui/format.ts'
import styles from './sql.module.css'
import type { RunState } from './use-run.ts'

/** Shows the result of each statement, PostgreSQL notices, and the error of a failed run. */
export function Messages({ run }: { readonly run: RunState }) {
  const { results, notices, failure, outcome, durationMs, body, linesBefore } = run
  const data = failure?.data
  return (
    <ol className={styles.messages}>
      {results.map(({ statement, line, command, rowCount, durationMs: ms }) => (
        <li key={statement}>
          <code>{command ?? `first ${rowCount} rows`}</code> · line {line + linesBefore} ·{' '}
          {formatDuration(ms)}
          {notices
            .filter((notice) => notice.statement === statement)
            .map((notice, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: notices are only appended.
              <NoticeLine key={index} {...notice} />
            ))}
        </li>
      ))}
      {failure !== undefined && (
        <li>
          {notices
            .filter(({ statement }) => statement === data?.statement)
            .map((notice, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: notices are only appended.
              <NoticeLine key={index} {...notice} />
            ))}
          <div role="alert" className={styles.failure}>
            <p>
              <strong>Failed: </strong>
              {failure.message}
            </p>
            {data?.detail !== undefined && <p>{data.detail}</p>}
            {data?.hint !== undefined && <p>Hint: {data.hint}</p>}
            {data?.where !== undefined && <pre>{data.where}</pre>}
            <p className={styles.muted}>
              {[
                data?.line === undefined ? undefined : `line ${data.line + linesBefore}`,
                data?.sqlState === undefined ? failure.error : `SQLSTATE ${data.sqlState}`,
              ]
                .filter((part) => part !== undefined)
                .join(' · ')}
            </p>
            <p>
              {body.transaction === 'each'
                ? 'Earlier statements are committed.'
                : 'The transaction was rolled back. Nothing was changed.'}
            </p>
          </div>
        </li>
      )}
      {outcome !== undefined && (
        <li>
          {body.mode === 'read' ? 'Read-only' : outcome === 'committed' ? 'Committed' : 'Rolled back'}
          {durationMs === undefined ? '' : ` · ${formatDuration(durationMs)}`}
          {run.role === undefined ? '' : ` · as role ${run.role}`}
        </li>
      )}
    </ol>
  )
}

function NoticeLine({
  severity = 'NOTICE',
  message,
  detail,
  hint,
}: {
  readonly severity?: string
  readonly message: string
  readonly detail?: string
  readonly hint?: string
}) {
  return (
    <p className={styles.notice}>
      <strong>{severity}: </strong>
      {message}
      {detail !== undefined && ` ${detail}`}
      {hint !== undefined && ` Hint: ${hint}`}
    </p>
  )
}
