import { Code } from '../../ui/code.tsx'
import { formatDuration } from '../../ui/format.ts'
import { Badge } from '../../ui/layout.tsx'
import { Revealed } from '../../ui/states.tsx'
import { toneOfStatus } from '../activity/level.ts'
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
          <Badge tone={isCommitted ? 'warning' : 'neutral'}>
            {isCommitted ? 'committed' : 'rolled back'}
          </Badge>{' '}
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
        {statements.length > 0 && <Code label="statements">{statements.map(lineOf).join('\n')}</Code>}
        {log.length > 0 && <Code label="log">{log.join('\n')}</Code>}
      </section>
    </Revealed>
  )
}

/** Returns the message of an error: that of the code, if it has a stack. */
function messageOf({ message, stack }: NonNullable<Invocation['error']>): string {
  const [first = ''] = stack?.split('\n') ?? []
  return first === '' ? message : first
}

/** Returns a statement with its duration and its error as a comment. */
const lineOf = ({ text, durationMs, error }: Invocation['statements'][number]) =>
  `${text.trim()} -- ${formatDuration(durationMs)}${error === undefined ? '' : `: ${error}`}`
