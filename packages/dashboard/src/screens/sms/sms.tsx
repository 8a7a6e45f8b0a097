import { useState } from 'react'
import { moreOf, useAction, useApi, usePages } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { TextArea, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Badge, Notice, PageHeader, Section } from '../../ui/layout.tsx'
import { Loaded, LoadedRows } from '../../ui/states.tsx'
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
        actions={
          <>
            <AsCode request={{ method: 'GET', path: '/api/admin/sms/messages' }} />
            <Button onClick={() => setSending(true)}>Send a test</Button>
          </>
        }
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
                  { key: 'name', title: 'Period', cell: ({ name }) => name },
                  { key: 'sent', title: 'Sent', align: 'end', cell: ({ sent }) => formatNumber(sent) },
                  {
                    key: 'confirmed',
                    title: 'Delivered',
                    align: 'end',
                    cell: ({ confirmed }) => formatNumber(confirmed),
                  },
                  {
                    key: 'failed',
                    title: 'Failed',
                    align: 'end',
                    cell: ({ failed }) => formatNumber(failed),
                  },
                  {
                    key: 'rate',
                    title: 'Delivery rate',
                    align: 'end',
                    cell: ({ sent, conversion_rate: rate }) => (sent === 0 ? '–' : `${rate.toFixed(1)} %`),
                  },
                ]}
              />
            </>
          )}
        </Loaded>
      </Section>
      <Section title="Messages">
        <Messages />
      </Section>
      {isSending && <SendDialog onClose={() => setSending(false)} />}
    </>
  )
}

function Messages() {
  const messages = usePages(['sms', 'messages'], listMessages)
  return (
    <LoadedRows list={messages}>
      {(rows) => (
        <DataTable
          caption="Messages"
          rows={rows}
          rowKey={({ id }) => id}
          columns={columns}
          empty="No messages yet."
          {...moreOf(messages)}
        />
      )}
    </LoadedRows>
  )
}

const columns: readonly Column<TextMessage>[] = [
  { key: 'to', title: 'To', cell: ({ to }) => to },
  { key: 'body', title: 'Text', cell: ({ body }) => body, isCut: true },
  { key: 'status', title: 'Status', cell: (message) => <MessageStatus message={message} /> },
  { key: 'provider', title: 'Provider', cell: ({ provider }) => provider, isMinor: true },
  {
    key: 'user',
    title: 'Sent by',
    cell: ({ user_id }) => (user_id === null ? 'the server' : <UserLink id={user_id} />),
    isMinor: true,
  },
  { key: 'at', title: 'At', cell: ({ created_at }) => <Time value={created_at} />, isMinor: true },
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
  const [to, setTo] = useState('')
  const [body, setBody] = useState('This is a test.')
  const send = useAction(() => sendMessage({ to, body }), {
    invalidates: [['sms']],
    done: 'The provider accepted the message.',
    onDone: onClose,
    failure: 'view',
  })
  return (
    <FormDialog
      title="Send a text message"
      action="Send"
      isDisabled={to.trim() === '' || body === ''}
      isPending={send.isPending}
      error={send.error}
      onSubmit={() => send.run()}
      onClose={onClose}
    >
      <TextField
        label="To"
        hint="International format, such as +14155550132"
        type="tel"
        value={to}
        onChange={setTo}
      />
      <TextArea label="Text" maxLength={1600} value={body} onChange={setBody} />
    </FormDialog>
  )
}
