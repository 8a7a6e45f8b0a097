import { useState } from 'react'
import { usePermissions } from '../../api/administrator.ts'
import { useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Menu } from '../../ui/menu.tsx'
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
  const may = usePermissions()
  return (
    <>
      <PageHeader
        title="Storage"
        asCode={{ request: { method: 'GET', path: '/api/storage/buckets' } }}
        actions={
          <Button needs="change" onClick={() => setDialog({ kind: 'purge' })}>
            Purge CDN
          </Button>
        }
        action={['New bucket', () => setDialog({ kind: 'create' })]}
      >
        Files of users, in buckets. Policies on <code>basalt.objects</code> control who reads and writes them.
      </PageHeader>
      <List<Bucket>
        caption="Buckets"
        of={buckets}
        {...(may('rows.read') && { href: ({ name }) => `/storage/${encodeURIComponent(name)}` })}
        empty="No buckets yet. A bucket holds files of users, and its policies control who reads and writes them."
        first={['Create the first bucket', () => setDialog({ kind: 'create' })]}
        columns={[
          ['Name', ({ name }) => name],
          [
            'Reading',
            (bucket) => (bucket.public ? <Badge tone="warning">Everyone</Badge> : <Badge>By policy</Badge>),
          ],
          ['Maximum file size', limitOf, 'end', 'minor'],
          ['Types', ({ allowedTypes }) => allowedTypes?.join(', ') ?? 'Any', 'minor'],
          ['Created', ({ createdAt }) => <Time value={createdAt} />, 'minor'],
          [
            'Actions',
            (bucket) => (
              <Menu
                label="Actions"
                name={`Actions of ${bucket.name}`}
                size="small"
                items={[
                  {
                    label: 'Settings',
                    onSelect: () => setDialog({ kind: 'change', bucket }),
                    needs: 'change',
                  },
                  {
                    label: 'Policies',
                    onSelect: () => setDialog({ kind: 'policies', bucket }),
                    needs: 'structure.write',
                  },
                  {
                    label: 'Delete',
                    needs: 'change',
                    isDangerous: true,
                    onSelect: () => setDialog({ kind: 'delete', bucket }),
                  },
                ]}
              />
            ),
            'actions',
          ],
        ]}
      />
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
  return (
    <ConfirmAction
      title="Delete bucket"
      action="Delete bucket"
      name={bucket.name}
      send={() => deleteBucket(bucket.name)}
      invalidates={[['storage']]}
      done={`Bucket ${bucket.name} deleted.`}
      onClose={onClose}
    >
      Deletes the bucket with all of its objects. They cannot be restored, and their links stop working.
    </ConfirmAction>
  )
}
