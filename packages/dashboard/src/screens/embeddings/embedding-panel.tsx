import { useState } from 'react'
import { Link } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { jobLink, jobsLink, rowsLink } from '../../links.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { countOf, formatNumber } from '../../ui/format.ts'
import { KeyValue, Notice, Section } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { idOf } from '../tables/names.ts'
import { type EmbeddingDetail, readEmbedding } from './api.ts'
import { BackfillDialog } from './backfill-dialog.tsx'
import { describeProvider, EmbeddingState } from './state.tsx'

const refetchIntervalMs = 3_000

export function EmbeddingPanel({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const detail = useApi(['embeddings', 'one', name], (signal) => readEmbedding(name, signal), {
    refetchIntervalMs,
  })
  return (
    <SidePanel title={name} size="wide" onClose={onClose}>
      <Loaded query={detail}>{(embedding) => <Detail embedding={embedding} />}</Loaded>
    </SidePanel>
  )
}

function Detail({ embedding }: { readonly embedding: EmbeddingDetail }) {
  const [isStarting, setStarting] = useState(false)
  const { name, table, columns, vectorColumn, model, problem, isOutdated } = embedding
  const { pending, failed, written, lastWrittenAt, lastError, failures } = embedding
  return (
    <>
      {problem !== null && <Notice tone="danger">The vectors are not updated: {problem}.</Notice>}
      {problem === null && isOutdated && (
        <Notice tone="warning">
          Existing rows have not been queued since the configuration changed. Start a backfill to queue them.
        </Notice>
      )}
      <p>
        <Button
          variant="primary"
          needs="change"
          disabled={problem !== null}
          onClick={() => setStarting(true)}
        >
          Start a backfill
        </Button>{' '}
        <AsCode
          request={{ method: 'POST', path: `/api/admin/embeddings/${encodeURIComponent(name)}/backfill` }}
        />
      </p>
      <KeyValue
        items={{
          State: <EmbeddingState embedding={embedding} />,
          Table: <Link href={rowsLink(table)}>{table}</Link>,
          'Source columns': columns.join(', '),
          'Vector column': <code>{vectorColumn}</code>,
          Model: model ?? 'not configured',
          Provider: describeProvider(embedding),
          Waiting: <Progress embedding={embedding} />,
          Failed: countOf(failed, 'row'),
          'Vectors written': formatNumber(written),
          'Last written': <Time value={lastWrittenAt} />,
          'Last error': lastError ?? '–',
          Backfill: <BackfillState embedding={embedding} />,
          Jobs: <Link href={jobsLink({ type: 'embedding_update' })}>Update jobs</Link>,
        }}
      />
      {failures.length > 0 && (
        <Section title="Rows refused by the provider">
          <DataTable
            caption="Rows that failed"
            rows={failures}
            rowKey={({ recordKey }) => JSON.stringify(recordKey)}
            columns={[
              [
                'Row',
                ({ recordKey }) => {
                  const id = idOf(recordKey.map(String))
                  return (
                    <Link href={rowsLink(table, { row: id })}>
                      <code>{id}</code>
                    </Link>
                  )
                },
              ],
              ['Reason', ({ error }) => error],
            ]}
          />
          {failed > failures.length && (
            <p>
              The first {failures.length} of {formatNumber(failed)}.
            </p>
          )}
        </Section>
      )}
      {pending > 0 && lastError !== null && (
        <Notice tone="warning">Waiting rows are retried while the provider fails.</Notice>
      )}
      {isStarting && <BackfillDialog embedding={embedding} onClose={() => setStarting(false)} />}
    </>
  )
}

/** Renders the progress of the last backfill, if it is known. */
function Progress({ embedding: { pending, failed, backfill } }: { readonly embedding: EmbeddingDetail }) {
  const rows = backfill?.rows ?? 0
  const done = rows - pending - failed
  if (pending === 0 || rows === 0 || done < 0) return <>{countOf(pending, 'row')}</>
  return (
    <>
      {countOf(pending, 'row')}{' '}
      <progress max={rows} value={done} aria-label="Completed rows of the backfill" />
    </>
  )
}

function BackfillState({ embedding: { backfill } }: { readonly embedding: EmbeddingDetail }) {
  if (backfill === null) return <>never</>
  return (
    <>
      <Link href={jobLink(backfill.jobId)}>{backfill.state}</Link>
      {backfill.rows !== null && `, ${countOf(backfill.rows, 'row')} queued`}{' '}
      <Time value={backfill.finishedAt ?? backfill.startedAt} />
    </>
  )
}
