import { countOf } from '../../ui/format.ts'
import styles from './access.module.css'
import type { Explanation } from './api.ts'
import { Mark } from './mark.tsx'

/** Renders the result as a sentence, and the checks that run before the policies. */
export function Summary({
  explanation: { answer, gates, reads, rows },
}: {
  readonly explanation: Explanation
}) {
  const stopping = gates.filter(({ verdict }) => verdict === 'stops')
  const isDenied =
    stopping.length > 0 || rows.some(({ allowed, actual }) => allowed !== true || actual === false)
  const disagreeing = rows.filter(({ agrees }) => agrees === false)
  return (
    <>
      <p className={styles.sentence} data-denied={isDenied} role="status">
        {answer}
      </p>
      {reads.map(({ policy, name, sentence }) => (
        <p key={`${policy} ${name}`} className={styles.read}>
          {sentence}
        </p>
      ))}
      {disagreeing.length > 0 && (
        <p className={styles.sentence} data-denied>
          The policies and the database disagree about {countOf(disagreeing.length, 'row')}. Either a
          definition has changed since then, or an expression depends on more than the row.
        </p>
      )}
      <details className={styles.gates} open={stopping.length > 0}>
        <summary>
          Before the policies:{' '}
          {stopping.length === 0
            ? `${gates.length} checks pass`
            : `${stopping.length} of ${gates.length} checks stop the request`}
        </summary>
        <ul>
          {gates.map(({ name, verdict, sentence }) => (
            <li key={name}>
              <Mark value={verdict === 'passes'} label={verdict} /> <strong>{name}</strong>{' '}
              <span>{sentence}</span>
            </li>
          ))}
        </ul>
      </details>
    </>
  )
}
