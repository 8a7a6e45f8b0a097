import { useState } from 'react'
import { client } from '../../api/client.ts'
import { inSession, useAction, useApi } from '../../api/queries.ts'
import { type ApiResponse, get, segment } from '../../api/request.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { KeyValue, Notice } from '../../ui/layout.tsx'
import { Failure } from '../../ui/states.tsx'
import type { TableInfo } from './api.ts'
import { csvField, guessColumn, headerLength, readCsv } from './csv.ts'

/** Of a file, read to map its columns. */
const sampleBytes = 64_000

type ImportRun = ApiResponse<'collections.getImport'>
type ImportResult = NonNullable<ImportRun['result']>

interface ImportDialogProps {
  readonly info: TableInfo
  readonly onDone: () => void
  readonly onClose: () => void
}

/** A file of rows: its columns mapped, tried without writing, and written with progress. */
export function ImportDialog({ info, onDone, onClose }: ImportDialogProps) {
  const [file, setFile] = useState<File>()
  const [sample, setSample] = useState<readonly (readonly string[])[]>([])
  const [mapping, setMapping] = useState<readonly string[]>([])
  const [conflict, setConflict] = useState<'' | 'skip' | 'update'>('')
  const [mode, setMode] = useState<'full' | 'partial'>('full')
  const [runId, setRunId] = useState<string>()
  const isCsv = file !== undefined && formatOf(file) === 'text/csv'
  const names = info.columns.map(({ name }) => name)

  const pick = async (picked: File | undefined) => {
    setFile(picked)
    setRunId(undefined)
    dry.reset()
    run.reset()
    if (picked === undefined || formatOf(picked) !== 'text/csv') return setSample([])
    const rows = readCsv(await picked.slice(0, sampleBytes).text(), 4)
    setSample(rows)
    setMapping((rows[0] ?? []).map((header) => guessColumn(header, names)))
  }

  const send = async (isDryRun: boolean): Promise<Response> => {
    if (file === undefined) throw new Error('no file')
    const query = {
      mode: isDryRun ? 'partial' : mode,
      on_conflict: conflict === '' ? undefined : conflict,
      dryRun: String(isDryRun),
    }
    const headers = {
      'content-type': formatOf(file),
      ...(isDryRun ? {} : { prefer: 'respond-async' }),
    }
    const content = isCsv ? await withHeader(file, mapping) : file
    const path = `collections/${encodeURIComponent(info.table)}/import`
    const detail = { query, headers, content, isRepeatable: false, timeoutMs: 3_600_000 }
    return await inSession(() => client.transport.exchange('POST', path, detail, (response) => response))
  }
  const dry = useAction(async () => (await (await send(true)).json()) as ImportResult, { failure: 'view' })
  const run = useAction(
    async () => {
      const status = (await (await send(false)).json()) as ImportRun
      setRunId(status.id)
    },
    { failure: 'view' },
  )
  const status = useApi(
    ['tables', info.table, 'import', runId],
    async (signal) => {
      const path = `collections/${segment(info.table)}/imports/${runId ?? ''}` as const
      const current = await get<'collections.getImport'>(path, {}, { signal })
      if (current.state !== 'running') onDone()
      return current
    },
    { enabled: runId !== undefined, refetchIntervalMs: 1000, keepsPrevious: false },
  )
  const isRunning = runId !== undefined && (status.data?.state ?? 'running') === 'running'
  // What is written is not written again by another press.
  const isWritten = runId !== undefined && status.data?.state === 'succeeded'
  const isMapped = !isCsv || mapping.some((name) => name !== '')
  return (
    <Dialog
      title={`Import into ${info.table}`}
      isOpen
      size="wide"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button
            disabled={file === undefined || !isMapped}
            isPending={dry.isPending}
            onClick={() => dry.run()}
          >
            Try without writing
          </Button>
          <Button
            variant="primary"
            disabled={file === undefined || !isMapped || isWritten}
            isPending={run.isPending || isRunning}
            onClick={() => run.run()}
          >
            Import
          </Button>
        </>
      }
    >
      <Field label="File" hint="CSV with a header, JSON with an array of objects, or NDJSON.">
        {(attributes) => (
          <input
            {...attributes}
            type="file"
            accept=".csv,.json,.ndjson,.jsonl"
            onChange={(event) => void pick(event.target.files?.[0])}
          />
        )}
      </Field>
      {file !== undefined && <p>{formatBytes(file.size)}</p>}
      {isCsv &&
        sample[0]?.map((header, index) => (
          <Select
            // biome-ignore lint/suspicious/noArrayIndexKey: headers may repeat; their places do not move.
            key={index}
            label={header === '' ? `Column ${index + 1}` : header}
            hint={`Such as: ${sample[1]?.[index] ?? ''}`}
            value={mapping[index] ?? ''}
            choices={[
              { value: '', label: 'Leave out' },
              ...names.map((name) => ({ value: name, label: name })),
            ]}
            onChange={(name) => setMapping((current) => current.with(index, name))}
          />
        ))}
      <Select
        label="Rows whose primary key exists"
        value={conflict}
        choices={[
          { value: '', label: 'are refused' },
          { value: 'skip', label: 'are left as they are in the table' },
          { value: 'update', label: 'get the values of the file' },
        ]}
        onChange={setConflict}
      />
      <Select
        label="When a row is refused"
        value={mode}
        choices={[
          { value: 'full', label: 'nothing is written' },
          { value: 'partial', label: 'the other rows are written' },
        ]}
        onChange={setMode}
      />
      {(dry.error ?? run.error) !== null && <Failure error={dry.error ?? run.error} />}
      {dry.result !== undefined && <Result title="Without writing" result={dry.result} />}
      {status.data !== undefined && <Progress status={status.data} />}
    </Dialog>
  )
}

function Progress({ status }: { readonly status: ImportRun }) {
  if (status.state === 'running') {
    return (
      <p role="status">
        {formatNumber(status.rowsWritten)} of {formatNumber(status.rowsRead)} rows written…
      </p>
    )
  }
  if (status.result !== null) return <Result title="Imported" result={status.result} />
  if (status.state === 'canceled') return <Notice>The import was canceled: nothing is written.</Notice>
  const { message = 'the import failed', errors = [] } = status.error ?? {}
  return (
    <>
      <Failure error={message} />
      <Refused errors={errors} />
    </>
  )
}

/** The first rows that were refused, and why. */
function Refused({ errors }: { readonly errors: NonNullable<ImportResult['errors']> }) {
  return errors.slice(0, 10).map(({ row, message }) => (
    <p key={row}>
      Row {row}: {message}
    </p>
  ))
}

function Result({ title, result }: { readonly title: string; readonly result: ImportResult }) {
  const { processed, inserted, updated, skipped, failed, errors = [] } = result
  return (
    <Notice tone={failed > 0 ? 'warning' : 'ok'}>
      <strong>{title}</strong>
      <KeyValue
        items={Object.entries({ processed, inserted, updated, skipped, failed }).map(([name, count]) => [
          name,
          formatNumber(count),
        ])}
      />
      <Refused errors={errors} />
    </Notice>
  )
}

function formatOf({ name }: File): string {
  if (/\.(ndjson|jsonl)$/i.test(name)) return 'application/x-ndjson'
  return /\.json$/i.test(name) ? 'application/json' : 'text/csv'
}

/** The file with the names of columns in place of its header; those left out have a name that is passed over. */
async function withHeader(file: File, mapping: readonly string[]): Promise<Blob> {
  // With the byte order mark, which `text()` leaves out: it counts in the length.
  const start = new TextDecoder('utf-8', { ignoreBOM: true }).decode(
    await file.slice(0, sampleBytes).arrayBuffer(),
  )
  const header = start.slice(0, headerLength(start))
  const length = new TextEncoder().encode(header).length
  const names = mapping.map((name, index) => csvField(name === '' ? `_left_out_${index}` : name))
  return new Blob([names.join(), file.slice(length)])
}
