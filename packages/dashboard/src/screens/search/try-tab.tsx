import { useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { Checkbox, Select, TextField } from '../../ui/field.tsx'
import { countOf, formatShortDuration } from '../../ui/format.ts'
import { Notice } from '../../ui/layout.tsx'
import { EmptyState, Loaded } from '../../ui/states.tsx'
import { queryPath } from '../activity/query-path.ts'
import { useFilters } from '../activity/use-filters.ts'
import { describeTable } from '../tables/api.ts'
import { equalFilter, nameText } from '../tables/names.ts'
import { type SearchDescription, searchRecords, shownRecords, type Trial } from './api.ts'
import { Facets } from './facets.tsx'
import { Hit } from './hit.tsx'
import styles from './search.module.css'

/** Default of `typo_threshold`. */
const defaultThreshold = '0.2'

/** Sends a search as a program would, and shows its result. The URL stores the search. */
export function TryTab({ description }: { readonly description: SearchDescription }) {
  const { collection: table, columns, hasTrigrams } = description
  const { values, settled, set } = useFilters(['term', 'fuzzy', 'threshold', 'plain', 'facet', 'filter'])
  const info = useApi(['tables', 'info', table], (signal) => describeTable(table, signal))
  const term = settled.term ?? ''
  const isFuzzy = settled.fuzzy !== undefined
  const trial: Trial = {
    search: term,
    ...(isFuzzy ? { fuzzy: 'true', typo_threshold: settled.threshold } : {}),
    highlight: settled.plain === undefined ? 'true' : undefined,
    facets: settled.facet === undefined ? undefined : nameText(settled.facet),
    filter: settled.filter,
  }
  const found = useApi(
    ['search', 'trial', table, trial],
    async (signal) => {
      const began = performance.now()
      return { ...(await searchRecords(table, trial, signal)), ms: performance.now() - began }
    },
    { enabled: term !== '' },
  )
  const path = queryPath(`/api/collections/${encodeURIComponent(table)}`, { ...trial })
  const options = Object.entries(trial).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${JSON.stringify(value)}`],
  )
  if (!columns.some(({ isSearchable }) => isSearchable)) {
    return <Notice>The table has no text columns to search.</Notice>
  }
  return (
    <>
      <search className={styles.trial} aria-label="Try a search">
        <TextField
          label="Search for"
          value={values.term ?? ''}
          onChange={(text) => set({ term: text })}
          hint='All words must match. "a phrase", or, -without'
          maxLength={1000}
        />
        <Select
          label="Count values of"
          value={values.facet ?? ''}
          onChange={(facet) => set({ facet })}
          choices={[
            { value: '', label: 'No column' },
            ...columns.map(({ name }) => ({ value: name, label: name })),
          ]}
        />
        {values.fuzzy !== undefined && (
          <TextField
            label="Minimum similarity"
            type="number"
            min={0}
            max={1}
            step={0.05}
            value={values.threshold ?? defaultThreshold}
            onChange={(threshold) => set({ threshold })}
          />
        )}
        <div className={styles.choices}>
          <Checkbox
            label="Tolerate typos"
            checked={values.fuzzy !== undefined}
            onChange={(isOn) => set({ fuzzy: isOn ? 'yes' : undefined, threshold: undefined })}
            disabled={!hasTrigrams && values.fuzzy === undefined}
            hint={hasTrigrams ? undefined : 'Requires the extension pg_trgm: create extension pg_trgm;'}
          />
          <Checkbox
            label="Highlight"
            checked={values.plain === undefined}
            onChange={(isOn) => set({ plain: isOn ? undefined : 'yes' })}
          />
        </div>
        <AsCode
          request={{ method: 'GET', path }}
          client={`await client.from(${JSON.stringify(table)}).list({ ${options.join(', ')} })`}
        />
      </search>
      {term === '' ? (
        <EmptyState example={['"a phrase" or word -without', 'Syntax']}>
          Enter words above. The records that have all of them follow, the best first.
        </EmptyState>
      ) : (
        <>
          <Code label="Request">{`GET ${path}`}</Code>
          {settled.filter !== undefined && (
            <p>
              Only <code>{settled.filter}</code>{' '}
              <Button size="small" onClick={() => set({ filter: undefined })}>
                Clear filter
              </Button>
            </p>
          )}
          <Loaded query={found}>
            {({ totalItems, items, facets, ms }) => (
              <>
                <p role="status" className={styles.count}>
                  {countOf(totalItems, 'record')} in {formatShortDuration(ms)}
                  {totalItems > items.length && `, the best ${shownRecords} shown`}
                </p>
                <Facets
                  facets={facets ?? {}}
                  onPick={(column, value) => set({ filter: equalFilter([[column, value]]) })}
                />
                <ol className={styles.hits} aria-label="Matching records">
                  {items.map((record, index) => (
                    <Hit
                      // A record of a view has no key.
                      // biome-ignore lint/suspicious/noArrayIndexKey: the list is replaced as a whole.
                      key={index}
                      table={table}
                      record={record}
                      primaryKey={info.data?.primaryKey ?? []}
                      searched={columns.filter(({ isSearchable }) => isSearchable).map(({ name }) => name)}
                    />
                  ))}
                </ol>
              </>
            )}
          </Loaded>
        </>
      )}
    </>
  )
}
