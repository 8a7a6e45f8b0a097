import { useState } from 'react'
import { useApi, usePages } from '../../api/queries.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { text, textArea } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Badge, Notice, PageHeader, Section } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { UserLink } from '../activity/links.tsx'
import { listMessages, readHealth, sendMessage, type TextMessage } from './api.ts'

export function SmsScreen() {
  const health = useApi(['sms', 'health'], readHealth, { refetchIntervalMs: 30_000 })
  const [isSending, setSending] = useState(false)
  return (
    <>
      <PageHeader
        title="SMS"
        asCode={{ request: { method: 'GET', path: '/api/admin/sms/messages' } }}
        action={['Send a test', () => setSending(true)]}
      />
      <Section title="Delivery">
        <Loaded query={health}>
          {({ today, last_7d, last_30d, warning }) => (
            <>
              {warning !== undefined && <Notice tone="warning">{warning}</Notice>}
              <DataTable
                caption="Delivery"
                rows={[
                  { name: 'Today', ...today },
                  { name: '7 days', ...last_7d },
                  { name: '30 days', ...last_30d },
                ]}
                rowKey={({ name }) => name}
                columns={[
                  ['Period', ({ name }) => name],
                  ['Sent', ({ sent }) => formatNumber(sent), 'end'],
                  ['Delivered', ({ confirmed }) => formatNumber(confirmed), 'end'],
                  ['Failed', ({ failed }) => formatNumber(failed), 'end'],
                  [
                    'Delivery rate',
                    ({ sent, conversion_rate: rate }) => (sent === 0 ? '–' : `${rate.toFixed(1)} %`),
                    'end',
                  ],
                ]}
              />
            </>
          )}
        </Loaded>
      </Section>
      <Section title="Messages">
        <Messages onSend={() => setSending(true)} />
      </Section>
      {isSending && <SendDialog onClose={() => setSending(false)} />}
    </>
  )
}

function Messages({ onSend }: { readonly onSend: () => void }) {
  const messages = usePages(['sms', 'messages'], listMessages)
  return (
    <List
      caption="Messages"
      of={messages}
      columns={columns}
      empty="No messages yet. The server texts codes to users who sign in by phone."
      first={['Send a test message', onSend]}
    />
  )
}

const columns: readonly Column<TextMessage>[] = [
  ['To', ({ to }) => to],
  ['Text', ({ body }) => body, 'cut'],
  ['Status', (message) => <MessageStatus message={message} />],
  ['Provider', ({ provider }) => provider, 'minor'],
  ['Sent by', ({ user_id }) => (user_id === null ? 'the server' : <UserLink id={user_id} />), 'minor'],
  ['At', ({ created_at }) => <Time value={created_at} />, 'minor'],
]

const failures = new Set(['failed', 'undelivered'])

function MessageStatus({ message: { status, error_message } }: { readonly message: TextMessage }) {
  const tone = failures.has(status) ? 'danger' : status === 'delivered' ? 'ok' : 'neutral'
  return (
    <>
      <Badge tone={tone}>{status}</Badge> {error_message}
    </>
  )
}

function SendDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <ActionForm
      title="Send a text message"
      action="Send"
      start={{ to: '', body: 'This is a test.' }}
      fields={() => ({
        to: text('To', { hint: 'International format, such as +14155550132', type: 'tel', required: true }),
        body: textArea('Text', { maxLength: 1600, required: true }),
      })}
      send={sendMessage}
      invalidates={[['sms']]}
      done="The provider accepted the message."
      onClose={onClose}
    />
  )
}
