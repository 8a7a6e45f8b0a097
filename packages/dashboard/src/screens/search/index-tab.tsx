import { useState } from 'react'
import { Link } from 'wouter'
import { useAction } from '../../api/queries.ts'
import { auditLink, jobsLink } from '../../links.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmAction, ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { formatBytes, formatDuration, formatNumber } from '../../ui/format.ts'
import { Badge, KeyValue, Notice, Toolbar } from '../../ui/layout.tsx'
import { Failure } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { disableIndexes, enableIndexes, type IndexStatus, type SearchDescription } from './api.ts'
import { IndexState } from './index-state.tsx'

/** Shows the indexes of a table: their cost, build progress and size. */
export function IndexTab({ description }: { readonly description: SearchDescription }) {
  const { collection: table, isEnabled, isIndexed, indexes, lastBuild, obstacle } = description
  const [dialog, setDialog] = useState<'enable' | 'disable'>()
  const close = () => setDialog(undefined)
  const after = { invalidates: [['search']], failure: 'view' } as const
  const enable = useAction(enableIndexes, { ...after, done: `The indexes of ${table} are built.` })

  const isBuilding = enable.isPending || indexes.some(({ state }) => state === 'building')
  return (
    <>
      {obstacle !== null && (
        <Notice>Indexes are not possible: {obstacle}. A search reads the whole table.</Notice>
      )}
      {enable.error !== null && <Failure error={enable.error} />}
      <Toolbar label="Index">
        {!isIndexed && (
          <Button
            variant="primary"
            needs="change"
            disabled={obstacle !== null}
            isPending={isBuilding}
            onClick={() => setDialog('enable')}
          >
            {isBuilding ? 'Building…' : 'Build indexes'}
          </Button>
        )}
        {(indexes.length > 0 || isEnabled === true) && (
          <Button needs="change" disabled={isBuilding} onClick={() => setDialog('disable')}>
            Disable
          </Button>
        )}
        <AsCode
          request={{ method: 'POST', path: `/api/admin/search/${encodeURIComponent(table)}/enable` }}
          command={`basalt search enable ${table}`}
        />
      </Toolbar>
      <KeyValue
        items={{
          State: <IndexState status={description} />,
          Rows: describeRows(description),
          Table: formatBytes(description.source.tableBytes),
          Text: describeText(description),
          'Last build':
            lastBuild === null ? (
              'never'
            ) : (
              <span key="build">
                <Time value={lastBuild.at} />
                {lastBuild.durationMs !== null && `, took ${formatDuration(lastBuild.durationMs)}`}
                {lastBuild.error !== null && `, failed: ${lastBuild.error}`}
              </span>
            ),
          'After a change of the settings': (
            <span>
              <Link href={jobsLink({ type: 'search_index_build' })}>jobs</Link> rebuild the indexes
            </span>
          ),
          'Started by': <Link href={auditLink({ action: 'search.enable' })}>audit</Link>,
        }}
      />
      <IndexTable indexes={indexes} />
      {dialog === 'enable' && (
        <ConfirmDialog
          title={`Build the search indexes of ${table}`}
          action="Build indexes"
          isDangerous={false}
          onConfirm={() => {
            enable.run(table)
            close()
          }}
          onClose={close}
        >
          <Cost description={description} />
        </ConfirmDialog>
      )}
      {dialog === 'disable' && (
        <ConfirmAction
          title={`Drop the search indexes of ${table}`}
          action="Drop indexes"
          send={() => disableIndexes(table)}
          {...after}
          done="Indexes dropped."
          onClose={close}
        >
          Searches then read the whole table. Indexes are not built automatically until you build them here
          again.
        </ConfirmAction>
      )}
    </>
  )
}

function IndexTable({ indexes }: Pick<IndexStatus, 'indexes'>) {
  return (
    <DataTable
      caption="Indexes"
      rows={indexes}
      rowKey={({ name }) => name}
      empty="No search indexes yet. Until they are built, a search reads the whole table."
      columns={[
        ['Kind', ({ kind }) => (kind === 'words' ? 'words' : 'similar words')],
        [
          'State',
          ({ state, progress }) =>
            state === 'building' ? (
              <>
                building <progress max={1} value={progress ?? 0} aria-label="Build progress" />
              </>
            ) : (
              <Badge tone={state === 'valid' ? 'ok' : 'danger'}>
                {state === 'valid' ? 'valid' : 'invalid: build it again'}
              </Badge>
            ),
        ],
        ['Name', ({ name }) => <code>{name}</code>, 'minor'],
        ['Size', ({ sizeBytes }) => formatBytes(sizeBytes), 'end'],
      ]}
    />
  )
}

const describeRows = ({ source: { estimatedRows } }: SearchDescription) =>
  estimatedRows === null ? 'not counted yet' : `≈ ${formatNumber(estimatedRows)}`

const describeText = ({ source: { textBytes } }: SearchDescription) =>
  textBytes === null ? 'unknown before the first ANALYZE' : `≈ ${formatBytes(textBytes)}`

/** Shows the estimated cost of building the indexes. */
function Cost({ description }: { readonly description: SearchDescription }) {
  const { hasTrigrams, source } = description
  const count = hasTrigrams ? 2 : 1
  const share = hasTrigrams ? mostOfBoth : mostOfWords
  const most = source.textBytes === null ? undefined : Math.max(count * leastBytes, source.textBytes * share)
  return (
    <>
      <p>
        All rows are read ({describeRows(description)}, {formatBytes(source.tableBytes)}). Readers and writers
        are not blocked. The build continues when this page is closed.
      </p>
      <p>
        {hasTrigrams
          ? 'Two indexes: one of words, and one of similar words.'
          : 'One index of words. With the extension pg_trgm, there is a second one for typos.'}{' '}
        {most !== undefined && `They need up to about ${formatBytes(most)} of disk space`}
        {most !== undefined && ', and slow down writes of the text.'}
      </p>
    </>
  )
}

/**
 * Estimated size of the word index relative to the text, without and with trigrams: 11 MB of guides took 2.8 MB and 14.8 MB.
 */
const mostOfWords = 0.5
const mostOfBoth = 2
/** Minimum size of an index. */
const leastBytes = 16_384
