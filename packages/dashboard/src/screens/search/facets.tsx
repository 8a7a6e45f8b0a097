import { Button } from '../../ui/button.tsx'
import { formatNumber } from '../../ui/format.ts'
import type { SearchResult } from './api.ts'
import styles from './search.module.css'

interface FacetsProps {
  readonly facets: NonNullable<SearchResult['facets']>
  readonly onPick: (column: string, value: string | null) => void
}

/** Shows the counts of the values among the matching records. A press filters by a value. */
export function Facets({ facets, onPick }: FacetsProps) {
  return Object.entries(facets).map(([column, buckets]) => (
    <section key={column} aria-label={`Values of ${column}`}>
      <h3>{column}</h3>
      <ul className={styles.facets}>
        {buckets.map(({ value, count }) => {
          const text = value === null ? null : typeof value === 'string' ? value : JSON.stringify(value)
          return (
            <li key={JSON.stringify(value)}>
              <Button size="small" onClick={() => onPick(column, text)}>
                {text ?? 'no value'} · {formatNumber(count)}
              </Button>
            </li>
          )
        })}
      </ul>
    </section>
  ))
}
