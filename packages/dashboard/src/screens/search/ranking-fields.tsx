import { Button } from '../../ui/button.tsx'
import { Select } from '../../ui/field.tsx'
import type { SearchSettings } from './api.ts'
import styles from './search.module.css'

type Ranking = SearchSettings['customRanking']

interface RankingFieldsProps {
  /** Columns that can rank. */
  readonly columns: readonly string[]
  readonly ranking: Ranking
  readonly onChange: (ranking: Ranking) => void
}

/** Renders the columns that sort equally ranked records, in order of priority. */
export function RankingFields({ columns, ranking, onChange }: RankingFieldsProps) {
  const free = columns.filter((name) => !ranking.some(({ column }) => column === name))
  const replace = (index: number, ...terms: Ranking) =>
    onChange([...ranking.slice(0, index), ...terms, ...ranking.slice(index + 1)])
  return (
    <>
      <p>Equally ranked records are sorted by these columns, then by the primary key.</p>
      <ol className={styles.ranking}>
        {ranking.map((term, index) => {
          const before = ranking[index - 1]
          return (
            <li key={term.column}>
              <code>{term.column}</code>
              <Select
                label={`Order of ${term.column}`}
                hidesLabel
                value={term.order}
                onChange={(order) => replace(index, { ...term, order })}
                choices={[
                  { value: 'asc', label: 'ascending' },
                  { value: 'desc', label: 'descending' },
                ]}
              />
              <Button
                size="small"
                aria-label={`Move ${term.column} up`}
                disabled={before === undefined}
                onClick={() => {
                  if (before === undefined) return
                  onChange([...ranking.slice(0, index - 1), term, before, ...ranking.slice(index + 1)])
                }}
              >
                Up
              </Button>
              <Button size="small" aria-label={`Remove ${term.column}`} onClick={() => replace(index)}>
                Remove
              </Button>
            </li>
          )
        })}
      </ol>
      <Select
        label="Add a column"
        value=""
        onChange={(column) => onChange([...ranking, { column, order: 'asc' }])}
        choices={[
          { value: '', label: 'Select a column' },
          ...free.map((name) => ({ value: name, label: name })),
        ]}
      />
    </>
  )
}
