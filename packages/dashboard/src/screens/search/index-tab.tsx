import { useState } from 'react'
import { Link } from 'wouter'
import { useAction } from '../../api/queries.ts'
import { auditLink, jobsLink } from '../../links.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { formatBytes, formatDuration, formatNumber } from '../../ui/format.ts'
import { Badge, KeyValue, Notice, Toolbar } from '../../ui/layout.tsx'
import { Failure } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { disableIndexes, enableIndexes, type IndexStatus, type SearchDescription } from './api.ts'
import { IndexState } from './index-state.tsx'

/** The indexes of one table: what they would cost, how far they are, what they take. */
export function IndexTab({ description }: { readonly description: SearchDescription }) {
  const { collection: table, isEnabled, isIndexed, indexes, lastBuild, obstacle } = description
  const [dialog, setDialog] = useState<'enable' | 'disable'>()
  const close = () => setDialog(undefined)
  const after = { invalidates: [['search']], failure: 'view' } as const
  const enable = useAction(enableIndexes, { ...after, done: `The indexes of ${table} are there.` })
  const disable = useAction(disableIndexes, { ...after, done: 'Indexes dropped.', onDone: close })
  const isBuilding = enable.isPending || indexes.some(({ state }) => state === 'building')
  return (
    <>
      {obstacle !== null && <Notice>It can have no index: {obstacle}. A search reads all of it.</Notice>}
      {enable.error !== null && <Failure error={enable.error} />}
      <Toolbar label="Index">
        {!isIndexed && (
          <Button
            variant="primary"
            disabled={obstacle !== null}
            isPending={isBuilding}
            onClick={() => setDialog('enable')}
          >
            {isBuilding ? 'Building…' : 'Make the indexes'}
          </Button>
        )}
        {(indexes.length > 0 || isEnabled === true) && (
          <Button disabled={isBuilding} onClick={() => setDialog('disable')}>
            Disable
          </Button>
        )}
        <AsCode
          request={{ method: 'POST', path: `/api/admin/search/${encodeURIComponent(table)}/enable` }}
          command={`basalt search enable ${table}`}
        />
      </Toolbar>
      <KeyValue
        items={[
          ['State', <IndexState key="state" status={description} />],
          ['Rows', describeRows(description)],
          ['Table', formatBytes(description.source.tableBytes)],
          ['Text', describeText(description)],
          [
            'Last build',
            lastBuild === null ? (
              'never'
            ) : (
              <span key="build">
                <Time value={lastBuild.at} />
                {lastBuild.durationMs !== null && `, took ${formatDuration(lastBuild.durationMs)}`}
                {lastBuild.error !== null && `, failed: ${lastBuild.error}`}
              </span>
            ),
          ],
          [
            'After a change of settings',
            <span key="jobs">
              <Link href={jobsLink({ type: 'search_index_build' })}>jobs</Link> build them anew
            </span>,
          ],
          [
            'Who did it',
            <Link key="audit" href={auditLink({ action: 'search.enable' })}>
              audit
            </Link>,
          ],
        ]}
      />
      <IndexTable indexes={indexes} />
      {dialog === 'enable' && (
        <ConfirmDialog
          title={`Make the search indexes of ${table}`}
          action="Make the indexes"
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
        <ConfirmDialog
          title={`Drop the search indexes of ${table}`}
          action="Drop the indexes"
          isPending={disable.isPending}
          error={disable.error}
          onConfirm={() => disable.run(table)}
          onClose={close}
        >
          Searches then read all of the table. None is made by itself any more, until they are asked for here.
        </ConfirmDialog>
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
      empty="No search index."
      columns={[
        { key: 'kind', title: 'Finds', cell: ({ kind }) => (kind === 'words' ? 'words' : 'what is similar') },
        {
          key: 'state',
          title: 'State',
          cell: ({ state, progress }) =>
            state === 'building' ? (
              <>
                building <progress max={1} value={progress ?? 0} aria-label="Progress of the build" />
              </>
            ) : (
              <Badge tone={state === 'valid' ? 'ok' : 'danger'}>
                {state === 'valid' ? 'valid' : 'invalid: make them again'}
              </Badge>
            ),
        },
        { key: 'name', title: 'Name', isMinor: true, cell: ({ name }) => <code>{name}</code> },
        { key: 'size', title: 'Size', align: 'end', cell: ({ sizeBytes }) => formatBytes(sizeBytes) },
      ]}
    />
  )
}

const describeRows = ({ source: { estimatedRows } }: SearchDescription) =>
  estimatedRows === null ? 'not counted yet' : `≈ ${formatNumber(estimatedRows)}`

const describeText = ({ source: { textBytes } }: SearchDescription) =>
  textBytes === null ? 'not known before the first analyze' : `≈ ${formatBytes(textBytes)}`

/** Before it is done. */
function Cost({ description }: { readonly description: SearchDescription }) {
  const { hasTrigrams, source } = description
  const count = hasTrigrams ? 2 : 1
  const share = hasTrigrams ? mostOfBoth : mostOfWords
  const most = source.textBytes === null ? undefined : Math.max(count * leastBytes, source.textBytes * share)
  return (
    <>
      <p>
        All rows are read ({describeRows(description)}, {formatBytes(source.tableBytes)}). Readers and writers
        are not blocked; the build continues when this page is closed.
      </p>
      <p>
        {hasTrigrams
          ? 'Two indexes: of words, and of what is similar.'
          : 'One index, of words. With the extension pg_trgm there would be one for typos, too.'}{' '}
        {most !== undefined && `They take up to about ${formatBytes(most)} on the disk`}
        {most !== undefined && ', and make each write of the text slower.'}
      </p>
    </>
  )
}

/** Size of the index of words, and of both, by the size of the text: 11 MB of guides took 2.8 MB and 14.8 MB. */
const mostOfWords = 0.5
const mostOfBoth = 2
/** Of one index, however little it holds. */
const leastBytes = 16_384
