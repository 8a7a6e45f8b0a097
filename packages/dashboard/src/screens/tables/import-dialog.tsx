import { useState } from 'react'
import { client } from '../../api/client.ts'
import { inSession, useAction, useApi } from '../../api/queries.ts'
import { type ApiResponse, get, segment } from '../../api/request.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { KeyValue, Notice } from '../../ui/layout.tsx'
import { Failure, Revealed } from '../../ui/states.tsx'
import type { TableInfo } from './api.ts'
import { csvField, guessColumn, headerLength, readCsv } from './csv.ts'

/** Number of bytes of a file that are read to map its columns. */
const sampleBytes = 64_000

type ImportRun = ApiResponse<'collections.getImport'>
type ImportResult = NonNullable<ImportRun['result']>

interface ImportDialogProps {
  readonly info: TableInfo
  readonly onDone: () => void
  readonly onClose: () => void
}

/** Imports a file of rows: maps its columns, tests it without writing, and writes it with progress. */
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
  // Another press must not import the rows again.
  const isWritten = runId !== undefined && status.data?.state === 'succeeded'
  const isMapped = !isCsv || mapping.some((name) => name !== '')
  // An administrator is no user, so the usual default `basalt.user_id()` is NULL.
  const owner = info.columns.find(
    ({ name, nullable }) => !nullable && info.people.includes(name) && !mapping.includes(name),
  )
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
            Test without writing
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
            // biome-ignore lint/suspicious/noArrayIndexKey: headers may repeat, and their positions do not change.
            key={index}
            label={header === '' ? `Column ${index + 1}` : header}
            hint={`Example: ${sample[1]?.[index] ?? ''}`}
            value={mapping[index] ?? ''}
            choices={[{ value: '', label: 'Skip' }, ...names.map((name) => ({ value: name, label: name }))]}
            onChange={(name) => setMapping((current) => current.with(index, name))}
          />
        ))}
      {isCsv && owner !== undefined && (
        <Notice tone="warning">
          No column of the file is <code>{owner.name}</code>, which each row requires. Add one with the ids of
          users, which Users shows.
        </Notice>
      )}
      <Select
        label="Rows with an existing primary key"
        value={conflict}
        choices={[
          { value: '', label: 'Refuse' },
          { value: 'skip', label: 'Keep the existing row' },
          { value: 'update', label: 'Update the existing row' },
        ]}
        onChange={setConflict}
      />
      <Select
        label="If a row is refused"
        value={mode}
        choices={[
          { value: 'full', label: 'Write nothing' },
          { value: 'partial', label: 'Write the other rows' },
        ]}
        onChange={setMode}
      />
      {(dry.error ?? run.error) !== null && <Failure error={dry.error ?? run.error} />}
      {dry.result !== undefined && <Result title="Test result" result={dry.result} />}
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
  if (status.state === 'canceled') return <Notice>The import was canceled. Nothing was written.</Notice>
  const { message = 'the import failed', errors = [] } = status.error ?? {}
  return (
    <>
      <Failure error={message} />
      <RefusedRows errors={errors} />
    </>
  )
}

/** Lists the first refused rows with their errors. */
function RefusedRows({ errors }: { readonly errors: NonNullable<ImportResult['errors']> }) {
  return errors.slice(0, 10).map(({ row, message }) => (
    <p key={row}>
      Row {row}: {message}
    </p>
  ))
}

function Result({ title, result }: { readonly title: string; readonly result: ImportResult }) {
  const { processed, inserted, updated, skipped, failed, errors = [] } = result
  return (
    <Revealed>
      <Notice tone={failed > 0 ? 'warning' : 'ok'}>
        <strong>{title}</strong>
        <KeyValue
          pairs={Object.entries({ processed, inserted, updated, skipped, failed }).map(([name, count]) => [
            name,
            formatNumber(count),
          ])}
        />
        <RefusedRows errors={errors} />
      </Notice>
    </Revealed>
  )
}

function formatOf({ name }: File): string {
  if (/\.(ndjson|jsonl)$/i.test(name)) return 'application/x-ndjson'
  return /\.json$/i.test(name) ? 'application/json' : 'text/csv'
}

/** Replaces the header of the file by column names. Skipped columns get a name that the import ignores. */
async function withHeader(file: File, mapping: readonly string[]): Promise<Blob> {
  // The byte order mark counts for the length, but `text()` omits it.
  const start = new TextDecoder('utf-8', { ignoreBOM: true }).decode(
    await file.slice(0, sampleBytes).arrayBuffer(),
  )
  const header = start.slice(0, headerLength(start))
  const length = new TextEncoder().encode(header).length
  const names = mapping.map((name, index) => csvField(name === '' ? `_left_out_${index}` : name))
  return new Blob([names.join(), file.slice(length)])
}
