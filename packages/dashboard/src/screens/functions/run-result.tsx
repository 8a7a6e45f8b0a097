import { Code } from '../../ui/code.tsx'
import { formatDuration } from '../../ui/format.ts'
import { Badge } from '../../ui/layout.tsx'
import { Revealed } from '../../ui/states.tsx'
import { toneOfLevel, toneOfStatus } from '../activity/level.ts'
import { RequestLink } from '../activity/links.tsx'
import type { Invocation } from './api.ts'
import { Frames } from './frames.tsx'
import styles from './functions.module.css'

interface RunResultProps {
  readonly invocation: Invocation
  readonly endedAt: string
}

/** Renders the outcome of a run: its result or error, its statements and its log. */
export function RunResult({ invocation, endedAt }: RunResultProps) {
  const { status, result, error, isCommitted, durationMs, log, statements, requestId } = invocation
  return (
    <Revealed>
      <section className={styles.run} aria-label="Result of the run">
        <p role="status">
          <Badge tone={toneOfStatus(status)}>{status}</Badge>{' '}
          <Badge tone={isCommitted ? 'warning' : 'neutral'}>{isCommitted ? 'kept' : 'undone'}</Badge>{' '}
          {formatDuration(durationMs)} · <RequestLink id={requestId} />
        </p>
        {error !== null && (
          <>
            <p>
              <strong>{messageOf(error)}</strong> <code>{error.error}</code>
            </p>
            <Frames frames={error.frames} since={endedAt} />
          </>
        )}
        {result !== undefined && <Code label="result">{JSON.stringify(result, undefined, 2)}</Code>}
        {statements.length > 0 && (
          <>
            <h3>Statements</h3>
            <ol className={styles.statements}>
              {statements.map(({ text, durationMs: ms, error: problem }, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change
                <li key={index}>
                  <code>{text.trim()}</code> <span className={styles.note}>{formatDuration(ms)}</span>
                  {problem !== undefined && <p className={styles.problem}>{problem}</p>}
                </li>
              ))}
            </ol>
          </>
        )}
        {log.length > 0 && (
          <>
            <h3>Log</h3>
            <ul className={styles.statements}>
              {log.map((line, index) => {
                const [, level = '', text = line] = /^(debug|info|warn|error): (.*)$/s.exec(line) ?? []
                return (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change
                  <li key={index}>
                    <Badge tone={toneOfLevel(level)}>{level}</Badge> <code>{text}</code>
                  </li>
                )
              })}
            </ul>
          </>
        )}
      </section>
    </Revealed>
  )
}

/** Returns the message of an error: that of the code, if it has a stack. */
function messageOf({ message, stack }: NonNullable<Invocation['error']>): string {
  const [first = ''] = stack?.split('\n') ?? []
  return first === '' ? message : first
}
