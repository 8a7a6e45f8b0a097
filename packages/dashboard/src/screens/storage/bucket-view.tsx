import { useRef, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { moreOf, usePages } from '../../api/queries.ts'
import { usePageTitle } from '../../shell/page-title.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { formatBytes } from '../../ui/format.ts'
import { FilterField, PageHeader, Toolbar } from '../../ui/layout.tsx'
import { quoteText } from '../../ui/sql.ts'
import { LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { listObjects } from './api.ts'
import { ObjectPanel } from './object-panel.tsx'
import { PolicyForm } from './policy-form.tsx'
import { Uploads } from './uploads.tsx'
import { useUploads } from './use-uploads.ts'

/** Lists the objects of a bucket by folder. The URL stores the prefix and the open object. */
export function BucketView({ bucket }: { readonly bucket: string }) {
  const [search, setSearch] = useSearchParams()
  const prefix = search.get('prefix') ?? ''
  const opened = search.get('object')
  const uploads = useUploads(bucket)
  const picker = useRef<HTMLInputElement>(null)
  const [showsPolicies, setShowsPolicies] = useState(false)
  usePageTitle(bucket)
  const objects = usePages(['storage', 'objects', bucket, prefix], (cursor, signal) =>
    listObjects(bucket, prefix, cursor, signal),
  )
  const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1)
  const at = (query: Readonly<Record<string, string>>) =>
    `/storage/${encodeURIComponent(bucket)}?${new URLSearchParams(query)}`
  const upload = (files: Iterable<File>) => {
    for (const file of files) uploads.add(folder + file.name, file)
  }
  return (
    // Keyboard users have the Upload button.
    <section
      aria-label={`Bucket ${bucket}`}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        upload(event.dataTransfer.files)
      }}
    >
      <PageHeader
        title={bucket}
        actions={
          <>
            <AsCode
              request={{
                method: 'GET',
                path: `/api/storage/${encodeURIComponent(bucket)}?${new URLSearchParams({ prefix, delimiter: '/' })}`,
              }}
              client={`import { files } from '@basaltdb/client/files'\n\nawait files(client).bucket(${JSON.stringify(bucket)}).list({ prefix: ${JSON.stringify(prefix)}, delimiter: '/' })`}
              sql={`select name, size, content_type\nfrom basalt.objects\nwhere bucket = ${quoteText(bucket)} and starts_with(name, ${quoteText(prefix)})\norder by name`}
            />
            <Button onClick={() => setShowsPolicies(true)}>Policies</Button>
            <Button variant="primary" onClick={() => picker.current?.click()}>
              Upload
            </Button>
            <input
              ref={picker}
              type="file"
              multiple
              hidden
              aria-label="Files to upload"
              onChange={(event) => {
                upload(event.target.files ?? [])
                event.target.value = ''
              }}
            />
          </>
        }
      >
        <Folders bucket={bucket} folder={folder} />
      </PageHeader>
      <Toolbar label="Objects">
        <FilterField
          label="Prefix"
          value={prefix}
          onChange={(text) => setSearch(text === '' ? {} : { prefix: text }, { replace: true })}
        />
      </Toolbar>
      <Uploads uploads={uploads} />
      <LoadedRows list={objects}>
        {(rows) => (
          <DataTable
            caption={`Objects of ${bucket}`}
            rows={rows}
            rowKey={(row) => ('folder' in row ? row.folder : row.name)}
            href={(row) => ('folder' in row ? at({ prefix: row.folder }) : at({ prefix, object: row.name }))}
            selectedKey={opened ?? undefined}
            empty="No objects here. Drop files, or select Upload."
            columns={[
              {
                key: 'name',
                title: 'Name',
                cell: (row) => ('folder' in row ? row.folder : row.name).slice(folder.length),
              },
              {
                key: 'size',
                title: 'Size',
                align: 'end',
                cell: (row) => 'size' in row && formatBytes(row.size),
              },
              {
                key: 'type',
                title: 'Type',
                isMinor: true,
                cell: (row) => ('contentType' in row ? row.contentType : 'Folder'),
              },
              {
                key: 'changed',
                title: 'Changed',
                isMinor: true,
                cell: (row) => 'updatedAt' in row && <Time value={row.updatedAt} />,
              },
            ]}
            {...moreOf(objects)}
          />
        )}
      </LoadedRows>
      {opened !== null && (
        <ObjectPanel
          key={opened}
          bucket={bucket}
          name={opened}
          object={objects.rows?.find((row) => 'name' in row && row.name === opened)}
          onClose={() => setSearch(prefix === '' ? {} : { prefix })}
        />
      )}
      {showsPolicies && <PolicyForm bucket={bucket} onClose={() => setShowsPolicies(false)} />}
    </section>
  )
}

/** Renders the path to a folder, with a link for each step. */
function Folders({ bucket, folder }: { readonly bucket: string; readonly folder: string }) {
  const steps = folder.split('/').slice(0, -1)
  const base = `/storage/${encodeURIComponent(bucket)}`
  return (
    <>
      <Link href="/storage">Storage</Link> / <Link href={base}>{bucket}</Link>
      {steps.map((step, index) => {
        const prefix = `${steps.slice(0, index + 1).join('/')}/`
        return (
          <span key={prefix}>
            {' '}
            / <Link href={`${base}?${new URLSearchParams({ prefix })}`}>{step}</Link>
          </span>
        )
      })}
    </>
  )
}
