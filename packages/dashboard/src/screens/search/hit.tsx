import { Link } from 'wouter'
import { rowsLink } from '../../links.ts'
import { idOf } from '../tables/names.ts'
import type { FoundRecord } from './api.ts'
import { readMarks } from './marks.ts'
import styles from './search.module.css'

interface HitProps {
  readonly table: string
  readonly record: FoundRecord
  readonly primaryKey: readonly string[]
  readonly searched: readonly string[]
}

/** Maximum length of a column without highlights, in characters. */
const longestText = 300

/** Shows a matching record with its searched columns and highlights. */
export function Hit({ table, record, primaryKey, searched }: HitProps) {
  const id = idOf(primaryKey.map((name) => String(record[name])))
  return (
    <li>
      {id !== '' && (
        <Link href={rowsLink(table, { row: id })}>
          {table} <code>{id}</code>
        </Link>
      )}
      <dl className={styles.columns}>
        {searched.map((column) => {
          const value = record[column]
          if (typeof value !== 'string' || value === '') return null
          const highlighted = record._highlightResult?.[column]
          return (
            <div key={column}>
              <dt>{column}</dt>
              <dd>
                {highlighted?.matchLevel === 'full' ? (
                  <Highlights text={highlighted.value} />
                ) : (
                  value.slice(0, longestText) + (value.length > longestText ? '…' : '')
                )}
              </dd>
            </div>
          )
        })}
      </dl>
    </li>
  )
}

function Highlights({ text }: { readonly text: string }) {
  return readMarks(text).map(({ at, text: part, isMarked }) =>
    isMarked ? <mark key={at}>{part}</mark> : <span key={at}>{part}</span>,
  )
}
