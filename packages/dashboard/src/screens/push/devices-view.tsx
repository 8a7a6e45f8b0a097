import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { usePages } from '../../api/queries.ts'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { text, textArea } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { Badge, FilterField, Toolbar } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Time } from '../../ui/time.tsx'
import { UserLink } from '../activity/links.tsx'
import { type Device, listDevices, revokeDevice, sendToDevice } from './api.ts'

const registration = `const body = { app_id, provider: 'webpush', platform: 'web', token: endpoint, keys }
const headers = { authorization, 'content-type': 'application/json' }
await fetch('/api/push/devices', { method: 'POST', headers, body: JSON.stringify(body) })`

export function DevicesView() {
  const [search, setSearch] = useSearchParams()
  const user = search.get('user') ?? ''
  const devices = usePages(['push', 'devices', user], (cursor, signal) => listDevices(user, cursor, signal))
  const [dialog, setDialog] = useState<{ readonly kind: 'send' | 'revoke'; readonly device: Device }>()
  const close = () => setDialog(undefined)

  return (
    <>
      <Toolbar label="Devices">
        <FilterField
          label="User id"
          value={user}
          onChange={(text) => setSearch(text === '' ? {} : { user: text }, { replace: true })}
        />
      </Toolbar>
      <List
        caption="Devices"
        of={devices}
        isFiltered={user !== ''}
        empty="No devices yet. An app registers the device of a user who accepts notifications."
        first={['Providers', '/push/providers']}
        example={[registration, 'Registration in your app']}
        columns={[
          ['Device', ({ device_name, platform }) => device_name || platform],
          ['Provider', ({ provider }) => provider],
          [
            'State',
            ({ is_active, inactive_reason }) =>
              is_active ? (
                <Badge tone="ok">Active</Badge>
              ) : (
                <>
                  <Badge>Inactive</Badge> {inactive_reason}
                </>
              ),
          ],
          ['User', ({ user_id }) => <UserLink id={user_id} />],
          ['Topics', ({ topics }) => topics.join(', '), 'minor'],
          ['Last used', ({ last_used }) => <Time value={last_used} />, 'minor'],
          [
            'Actions',
            (device) => (
              <Menu
                label="Actions"
                name={`Actions of ${device.device_name || device.id}`}
                size="small"
                items={[
                  {
                    label: 'Send a test',
                    needs: 'change',
                    disabled: !device.is_active,
                    onSelect: () => setDialog({ kind: 'send', device }),
                  },
                  {
                    label: 'Revoke',
                    needs: 'change',
                    isDangerous: true,
                    disabled: !device.is_active,
                    onSelect: () => setDialog({ kind: 'revoke', device }),
                  },
                ]}
              />
            ),
            'actions',
          ],
        ]}
      />
      {dialog?.kind === 'send' && <SendTest device={dialog.device} onClose={close} />}
      {dialog?.kind === 'revoke' && (
        <ConfirmAction
          title="Revoke device"
          action="Revoke device"
          send={() => revokeDevice(dialog.device.id)}
          invalidates={[['push', 'devices']]}
          done="Device revoked."
          onClose={close}
        >
          It receives no messages until its app registers it again.
        </ConfirmAction>
      )}
    </>
  )
}

function SendTest({ device, onClose }: { readonly device: Device; readonly onClose: () => void }) {
  return (
    <ActionForm
      title="Send a test"
      action="Send"
      start={{ title: 'Test', body: 'A message from the dashboard.' }}
      fields={() => ({ title: text('Title'), body: textArea('Text') })}
      send={(message) => sendToDevice({ token_id: device.id, ...message })}
      invalidates={[['push', 'deliveries']]}
      done="Message queued. Its delivery will show the response of the provider."
      onClose={onClose}
    />
  )
}
