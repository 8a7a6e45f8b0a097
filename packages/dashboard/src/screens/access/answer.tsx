import styles from './access.module.css'
import type { Explanation } from './api.ts'
import { Mark } from './mark.tsx'

/** The answer in a sentence, and what a request passes before the policies. */
export function Answer({
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
          The policies and the database do not agree about {disagreeing.length} of the rows: a definition has
          changed since, or an expression depends on more than the row.
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
