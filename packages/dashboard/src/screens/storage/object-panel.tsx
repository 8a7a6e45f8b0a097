import type { StoredObject } from '@basaltdb/client/files'
import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { Select } from '../../ui/field.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Form, KeyValue, Section } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { bucketOf, downloadAddress, type Folder, objectAddress } from './api.ts'
import { Preview } from './preview.tsx'
import { RelocateForm } from './relocate-form.tsx'

interface ObjectPanelProps {
  readonly bucket: string
  readonly name: string
  /** Object to show; undefined if it is not among the loaded rows. */
  readonly object: StoredObject | Folder | undefined
  readonly onClose: () => void
}

export function ObjectPanel({ bucket, name, object, onClose }: ObjectPanelProps) {
  const [dialog, setDialog] = useState<'delete' | 'move' | 'copy'>()
  const closeDialog = () => setDialog(undefined)
  return (
    <SidePanel
      title={name}
      onClose={onClose}
      footer={
        <>
          <AsCode
            request={{ method: 'GET', path: objectAddress(bucket, name) }}
            client={`import { files } from '@basaltdb/client/files'\n\nawait files(client).bucket(${JSON.stringify(bucket)}).download(${JSON.stringify(name)})`}
          />
          <Button needs="rows.write" onClick={() => setDialog('move')}>
            Move
          </Button>
          <Button needs="rows.write" onClick={() => setDialog('copy')}>
            Copy
          </Button>
          <Button variant="danger" needs="rows.write" onClick={() => setDialog('delete')}>
            Delete
          </Button>
        </>
      }
    >
      {object === undefined || !('name' in object) ? (
        <Empty>The current filter excludes this object.</Empty>
      ) : (
        <>
          <KeyValue
            items={{
              Size: formatBytes(object.size),
              Type: object.contentType,
              Owner: object.userId ?? 'None',
              Created: <Time value={object.createdAt} />,
              Changed: <Time value={object.updatedAt} />,
            }}
          />
          <p>
            <a href={downloadAddress(bucket, name)} download>
              Download
            </a>
          </p>
          <Preview object={object} />
        </>
      )}
      <SignedLink bucket={bucket} name={name} />
      {dialog === 'delete' && (
        <DeleteObject bucket={bucket} name={name} onClose={closeDialog} onDeleted={onClose} />
      )}
      {(dialog === 'move' || dialog === 'copy') && (
        <RelocateForm bucket={bucket} name={name} verb={dialog} onClose={closeDialog} onDone={onClose} />
      )}
    </SidePanel>
  )
}

const lives = [
  { value: '600', label: '10 minutes' },
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '1 day' },
  { value: '604800', label: '1 week' },
] as const

/** Creates a URL that opens the object without a token until it expires. */
function SignedLink({ bucket, name }: { readonly bucket: string; readonly name: string }) {
  const [life, setLife] = useState<(typeof lives)[number]['value']>('3600')
  const sign = useAction(() => bucketOf(bucket).sign(name, { expiresIn: Number(life) }))
  const revoke = useAction(() => bucketOf(bucket).revoke(name), {
    done: 'Signed links of this object are revoked.',
    onDone: sign.reset,
  })
  return (
    <Section title="Signed link">
      <Form onSubmit={() => sign.run()}>
        <Select label="Valid for" value={life} choices={lives} onChange={setLife} />
        <p>
          <Button type="submit" isPending={sign.isPending}>
            Create link
          </Button>{' '}
          <Button onClick={() => revoke.run()} isPending={revoke.isPending}>
            Revoke all links
          </Button>
        </p>
      </Form>
      {sign.result !== undefined && <Code label="Signed link">{sign.result}</Code>}
    </Section>
  )
}

function DeleteObject({
  bucket,
  name,
  onClose,
  onDeleted,
}: {
  readonly bucket: string
  readonly name: string
  readonly onClose: () => void
  readonly onDeleted: () => void
}) {
  return (
    <ConfirmAction
      title="Delete object"
      action="Delete"
      send={() => bucketOf(bucket).delete(name)}
      invalidates={[['storage', 'objects', bucket]]}
      done="Object deleted."
      onDone={onDeleted}
      onClose={onClose}
    >
      Deletes <code>{name}</code>. It cannot be restored.
    </ConfirmAction>
  )
}
