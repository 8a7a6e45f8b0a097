import { useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { Menu } from '../../ui/menu.tsx'
import { EmptyState, Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { type Bucket, deleteBucket, listBuckets } from './api.ts'
import { BucketForm } from './bucket-form.tsx'
import { PolicyForm } from './policy-form.tsx'
import { PurgeForm } from './purge-form.tsx'

type Dialog =
  | { readonly kind: 'create' | 'purge' }
  | { readonly kind: 'change' | 'delete' | 'policies'; bucket: Bucket }

export function BucketsView() {
  const buckets = useApi(['storage', 'buckets'], listBuckets)
  const [dialog, setDialog] = useState<Dialog>()
  const close = () => setDialog(undefined)
  return (
    <>
      <PageHeader
        title="Storage"
        actions={
          <>
            <AsCode request={{ method: 'GET', path: '/api/storage/buckets' }} />
            <Button onClick={() => setDialog({ kind: 'purge' })}>Purge CDN</Button>
            <Button variant="primary" onClick={() => setDialog({ kind: 'create' })}>
              New bucket
            </Button>
          </>
        }
      >
        Files of users, in buckets. Policies on <code>basalt.objects</code> control who reads and writes them.
      </PageHeader>
      <Loaded query={buckets}>
        {(items) => (
          <DataTable
            caption="Buckets"
            rows={items}
            rowKey={({ id }) => id}
            href={({ name }) => `/storage/${encodeURIComponent(name)}`}
            empty={
              <EmptyState
                icon="folder"
                action="Create the first bucket"
                onAct={() => setDialog({ kind: 'create' })}
              >
                No buckets yet. A bucket holds files of users, and its policies control who reads and writes
                them.
              </EmptyState>
            }
            columns={[
              { key: 'name', title: 'Name', cell: ({ name }) => name },
              {
                key: 'access',
                title: 'Reading',
                cell: (bucket) =>
                  bucket.public ? <Badge tone="warning">Everyone</Badge> : <Badge>By policy</Badge>,
              },
              { key: 'size', title: 'Maximum file size', cell: limitOf, align: 'end' },
              {
                key: 'types',
                title: 'Types',
                isMinor: true,
                cell: ({ allowedTypes }) => allowedTypes?.join(', ') ?? 'Any',
              },
              {
                key: 'created',
                title: 'Created',
                isMinor: true,
                cell: ({ createdAt }) => <Time value={createdAt} />,
              },
              {
                key: 'actions',
                title: <span className="visually-hidden">Actions</span>,
                align: 'end',
                cell: (bucket) => (
                  <Menu
                    label="Actions"
                    name={`Actions of ${bucket.name}`}
                    size="small"
                    items={[
                      { label: 'Settings', onSelect: () => setDialog({ kind: 'change', bucket }) },
                      { label: 'Policies', onSelect: () => setDialog({ kind: 'policies', bucket }) },
                      {
                        label: 'Delete',
                        isDangerous: true,
                        onSelect: () => setDialog({ kind: 'delete', bucket }),
                      },
                    ]}
                  />
                ),
              },
            ]}
          />
        )}
      </Loaded>
      {dialog?.kind === 'create' && <BucketForm onClose={close} />}
      {dialog?.kind === 'purge' && <PurgeForm onClose={close} />}
      {dialog?.kind === 'change' && <BucketForm bucket={dialog.bucket} onClose={close} />}
      {dialog?.kind === 'policies' && <PolicyForm bucket={dialog.bucket.name} onClose={close} />}
      {dialog?.kind === 'delete' && <DeleteBucket bucket={dialog.bucket} onClose={close} />}
    </>
  )
}

const limitOf = ({ maxFileSize }: Bucket) =>
  maxFileSize === undefined ? 'Server limit' : formatBytes(maxFileSize)

function DeleteBucket({ bucket, onClose }: { readonly bucket: Bucket; readonly onClose: () => void }) {
  const action = useAction(deleteBucket, {
    invalidates: [['storage']],
    done: `Bucket ${bucket.name} deleted.`,
    failure: 'view',
    onDone: onClose,
  })
  return (
    <ConfirmDialog
      title="Delete bucket"
      action="Delete bucket"
      name={bucket.name}
      isPending={action.isPending}
      error={action.error}
      onConfirm={() => action.run(bucket.name)}
      onClose={onClose}
    >
      Deletes the bucket with all of its objects. They cannot be restored, and their links stop working.
    </ConfirmDialog>
  )
}
