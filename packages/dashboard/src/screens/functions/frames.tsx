import { usePermissions } from '../../api/administrator.ts'
import { useApi } from '../../api/queries.ts'
import { Loaded } from '../../ui/states.tsx'
import { type Frame, readSource } from './api.ts'
import styles from './functions.module.css'

interface FramesProps {
  readonly frames: readonly Frame[]
  /** Time of the error. A file that has changed later may have other lines. */
  readonly since: string
}

/** Renders the positions of an error in the code, the innermost with its source. */
export function Frames({ frames, since }: FramesProps) {
  const mayRead = usePermissions()('owner')
  if (frames.length === 0) return null
  return (
    <ol className={styles.frames} aria-label="Positions in the code">
      {frames.map((frame, index) => (
        // One line may be in a stack several times.
        // biome-ignore lint/suspicious/noArrayIndexKey: a stack does not change
        <li key={index}>
          {mayRead ? (
            <details open={index === 0}>
              <summary>
                <Position frame={frame} />
              </summary>
              <Source frame={frame} since={since} />
            </details>
          ) : (
            <Position frame={frame} />
          )}
        </li>
      ))}
    </ol>
  )
}

function Position({ frame: { file, line, column, caller } }: { readonly frame: Frame }) {
  return (
    <>
      <code>{`${file}:${line}:${column}`}</code>
      {caller !== null && (
        <>
          {' '}
          in <code>{caller}</code>
        </>
      )}
    </>
  )
}

function Source({ frame, since }: { readonly frame: Frame; readonly since: string }) {
  const { file, line, deploy } = frame
  const source = useApi(['functions', 'source', deploy, file, line, since], (signal) =>
    readSource(frame, signal),
  )
  return (
    <Loaded query={source}>
      {({ firstLine, lines, modifiedAt }) => (
        <>
          {modifiedAt !== null && modifiedAt > since && (
            <p className={styles.note}>The file has changed since this error, so the lines may differ.</p>
          )}
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard. */}
          <section className={styles.source} tabIndex={0} aria-label={`Source of ${file}`}>
            {lines
              .map((text, index) => ({ text, number: firstLine + index }))
              .map(({ text, number }) => (
                <span key={number} data-current={number === line || undefined}>
                  <span className={styles.number}>{number}</span>
                  {`${text}\n`}
                </span>
              ))}
          </section>
        </>
      )}
    </Loaded>
  )
}
