import { useRef, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { usePages } from '../../api/queries.ts'
import { usePageTitle } from '../../shell/page-title.ts'
import { Button } from '../../ui/button.tsx'
import { formatBytes } from '../../ui/format.ts'
import { FilterField, PageHeader, Toolbar } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { quoteText } from '../../ui/sql.ts'
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
        asCode={{
          request: {
            method: 'GET',
            path: `/api/storage/${encodeURIComponent(bucket)}?${new URLSearchParams({ prefix, delimiter: '/' })}`,
          },
          client: `import { files } from '@basaltdb/client/files'\n\nawait files(client).bucket(${JSON.stringify(bucket)}).list({ prefix: ${JSON.stringify(prefix)}, delimiter: '/' })`,
          sql: `select name, size, content_type\nfrom basalt.objects\nwhere bucket = ${quoteText(bucket)} and starts_with(name, ${quoteText(prefix)})\norder by name`,
        }}
        actions={
          <>
            <Button needs="structure.write" onClick={() => setShowsPolicies(true)}>
              Policies
            </Button>
            <Button variant="primary" needs="rows.write" onClick={() => picker.current?.click()}>
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
      <List
        caption={`Objects of ${bucket}`}
        of={objects}
        rowKey={(row) => ('folder' in row ? row.folder : row.name)}
        href={(row) => ('folder' in row ? at({ prefix: row.folder }) : at({ prefix, object: row.name }))}
        selectedKey={opened ?? undefined}
        empty="No objects here. Drop files anywhere on this page, or select them."
        first={['Upload files', () => picker.current?.click(), 'rows.write']}
        columns={[
          ['Name', (row) => ('folder' in row ? row.folder : row.name).slice(folder.length)],
          ['Size', (row) => 'size' in row && formatBytes(row.size), 'end'],
          ['Type', (row) => ('contentType' in row ? row.contentType : 'Folder'), 'minor'],
          ['Changed', (row) => 'updatedAt' in row && <Time value={row.updatedAt} />, 'minor'],
        ]}
      />
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
