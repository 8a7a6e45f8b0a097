import { usePermissions } from '../../api/administrator.ts'
import { Code } from '../../ui/code.tsx'
import { Time } from '../../ui/time.tsx'
import { RequestLink } from '../activity/links.tsx'
import type { FunctionError } from './api.ts'
import { Frames } from './frames.tsx'
import styles from './functions.module.css'

/** Renders one error: its message, its positions in the code, and its stack. */
export function ErrorItem({ error }: { readonly error: FunctionError }) {
  const { time, message, stack, frames, requestId } = error
  const mayRead = usePermissions()('bodies.read')
  return (
    <article className={styles.error}>
      <p>
        <strong>{mayRead ? message : 'Failed'}</strong>{' '}
        <span className={styles.note}>
          <Time value={time} /> · <RequestLink id={requestId} />
        </span>
      </p>
      <Frames frames={frames} since={time} />
      {stack !== null && (
        <details>
          <summary>Stack</summary>
          <Code label="stack">{stack}</Code>
        </details>
      )}
    </article>
  )
}
