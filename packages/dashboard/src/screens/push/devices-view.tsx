import { useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { moreOf, useAction, usePages } from '../../api/queries.ts'
import { userLink } from '../../links.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { TextArea, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Badge, FilterField, Toolbar } from '../../ui/layout.tsx'
import { Menu } from '../../ui/menu.tsx'
import { LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { type Device, listDevices, revokeDevice, sendToDevice } from './api.ts'

export function DevicesView() {
  const [search, setSearch] = useSearchParams()
  const user = search.get('user') ?? ''
  const devices = usePages(['push', 'devices', user], (cursor, signal) => listDevices(user, cursor, signal))
  const [dialog, setDialog] = useState<{ readonly kind: 'send' | 'revoke'; readonly device: Device }>()
  const close = () => setDialog(undefined)
  const revocation = useAction(revokeDevice, {
    invalidates: [['push', 'devices']],
    done: 'Device revoked.',
    failure: 'view',
    onDone: close,
  })
  return (
    <>
      <Toolbar label="Devices">
        <FilterField
          label="User id"
          value={user}
          onChange={(text) => setSearch(text === '' ? {} : { user: text }, { replace: true })}
        />
      </Toolbar>
      <LoadedRows list={devices}>
        {(rows) => (
          <DataTable
            caption="Devices"
            rows={rows}
            rowKey={({ id }) => id}
            empty="No devices are registered."
            columns={[
              {
                key: 'device',
                title: 'Device',
                cell: ({ device_name, platform }) => device_name || platform,
              },
              { key: 'provider', title: 'Provider', cell: ({ provider }) => provider },
              {
                key: 'state',
                title: 'State',
                cell: ({ is_active, inactive_reason }) =>
                  is_active ? (
                    <Badge tone="ok">Active</Badge>
                  ) : (
                    <>
                      <Badge>Inactive</Badge> {inactive_reason}
                    </>
                  ),
              },
              {
                key: 'user',
                title: 'User',
                cell: ({ user_id }) => <Link href={userLink(user_id)}>{user_id}</Link>,
              },
              {
                key: 'topics',
                title: 'Topics',
                isMinor: true,
                cell: ({ topics }) => topics.join(', '),
              },
              {
                key: 'used',
                title: 'Last used',
                isMinor: true,
                cell: ({ last_used }) => <Time value={last_used} />,
              },
              {
                key: 'actions',
                title: <span className="visually-hidden">Actions</span>,
                align: 'end',
                cell: (device) => (
                  <Menu
                    label="Actions"
                    name={`Actions of ${device.device_name || device.id}`}
                    size="small"
                    items={[
                      {
                        label: 'Send a test',
                        disabled: !device.is_active,
                        onSelect: () => setDialog({ kind: 'send', device }),
                      },
                      {
                        label: 'Revoke',
                        isDangerous: true,
                        disabled: !device.is_active,
                        onSelect: () => setDialog({ kind: 'revoke', device }),
                      },
                    ]}
                  />
                ),
              },
            ]}
            {...moreOf(devices)}
          />
        )}
      </LoadedRows>
      {dialog?.kind === 'send' && <SendTest device={dialog.device} onClose={close} />}
      {dialog?.kind === 'revoke' && (
        <ConfirmDialog
          title="Revoke device"
          action="Revoke device"
          isPending={revocation.isPending}
          error={revocation.error}
          onConfirm={() => revocation.run(dialog.device.id)}
          onClose={close}
        >
          It receives no messages until its app registers it again.
        </ConfirmDialog>
      )}
    </>
  )
}

function SendTest({ device, onClose }: { readonly device: Device; readonly onClose: () => void }) {
  const [title, setTitle] = useState('Test')
  const [body, setBody] = useState('A message from the dashboard.')
  const action = useAction(sendToDevice, {
    invalidates: [['push', 'deliveries']],
    done: 'Message queued. Its delivery will show the response of the provider.',
    failure: 'view',
    onDone: onClose,
  })
  return (
    <FormDialog
      title="Send a test"
      action="Send"
      error={action.error}
      isPending={action.isPending}
      onSubmit={() => action.run({ token_id: device.id, title, body })}
      onClose={onClose}
    >
      <TextField label="Title" value={title} onChange={setTitle} />
      <TextArea label="Text" value={body} onChange={setBody} />
    </FormDialog>
  )
}
