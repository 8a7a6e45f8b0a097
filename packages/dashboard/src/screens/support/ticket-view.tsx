import { Link } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { auditLink, userLink } from '../../links.ts'
import { usePageTitle } from '../../shell/page-title.ts'
import { Button } from '../../ui/button.tsx'
import { textArea } from '../../ui/fields.tsx'
import { InlineForm } from '../../ui/form-dialog.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Notice, PageHeader } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import {
  answerTicket,
  attachmentAddress,
  type Message,
  readTicket,
  setStatus,
  type TicketDetail,
} from './api.ts'
import { StatusBadge } from './status-badge.tsx'
import styles from './support.module.css'

/** Refetch interval in milliseconds, because the user may write while the ticket is open. */
const refetchIntervalMs = 5_000
/** Number of messages that the API returns. */
const shownMessages = 500

export function TicketView({ id }: { readonly id: string }) {
  const ticket = useApi(['support', 'one', id], (signal) => readTicket(id, signal), { refetchIntervalMs })
  return <Loaded query={ticket}>{(found) => <LoadedTicket ticket={found} />}</Loaded>
}

function LoadedTicket({ ticket }: { readonly ticket: TicketDetail }) {
  const { id, subject, status, email, user_id, messages, created_at } = ticket
  usePageTitle(subject)
  const isClosed = status === 'closed'
  const change = useAction(setStatus, {
    invalidates: [['support']],
    done: isClosed ? 'Ticket reopened.' : 'Ticket closed.',
  })
  return (
    <>
      <PageHeader
        title={subject}
        asCode={{ request: { method: 'GET', path: `/api/admin/support/tickets/${id}` } }}
        actions={
          <Button
            needs="change"
            isPending={change.isPending}
            onClick={() => change.run({ id, status: isClosed ? 'open' : 'closed' })}
          >
            {isClosed ? 'Reopen ticket' : 'Close ticket'}
          </Button>
        }
      >
        <StatusBadge status={status} /> of <Link href={userLink(user_id)}>{email ?? user_id}</Link>, opened{' '}
        <Time value={created_at} />
      </PageHeader>
      <p className={styles.links}>
        <Link href="/support">All tickets</Link>
        <Link href={`/support?user=${user_id}`}>Tickets of this user</Link>
        <Link href={auditLink({ action: 'support.answer' })}>Replies in the audit log</Link>
      </p>
      {messages.length === shownMessages && (
        <Notice>Only the last {shownMessages} messages are shown.</Notice>
      )}
      <ol className={styles.messages} aria-label="Messages">
        {messages.map((message) => (
          <MessageItem key={message.id} ticketId={id} message={message} />
        ))}
      </ol>
      {email === null && (
        <Notice tone="warning">The user has no email address. Replies are only visible in the app.</Notice>
      )}
      <ReplyForm key={id} id={id} isMailed={email !== null} />
    </>
  )
}

interface MessageItemProps {
  readonly ticketId: string
  readonly message: Message
}

function MessageItem({ ticketId, message }: MessageItemProps) {
  const { id, author, body, attachments, mailed_at, created_at } = message
  const isReply = author === 'support'
  return (
    <li className={styles.message} data-author={author}>
      <p className={styles.author}>
        <strong>{isReply ? 'Support' : 'User'}</strong> <Time value={created_at} />
        {isReply && mailed_at !== null && (
          <>
            {' · mailed '}
            <Time value={mailed_at} />
          </>
        )}
        {isReply && mailed_at === null && ' · not mailed yet'}
      </p>
      <p className={styles.body}>{body}</p>
      {attachments.length > 0 && (
        <ul className={styles.attachments} aria-label="Attachments">
          {attachments.map(({ filename, size, kept }, index) => {
            const name = <bdi>{filename === '' ? `attachment ${index + 1}` : filename}</bdi>
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies the attachment
              <li key={index}>
                {kept ? (
                  <a href={attachmentAddress(ticketId, id, index)} download>
                    {name}
                  </a>
                ) : (
                  name
                )}{' '}
                ({formatBytes(size)}
                {!kept && ', not stored: the ticket is full'})
              </li>
            )
          })}
        </ul>
      )}
    </li>
  )
}

function ReplyForm({ id, isMailed }: { readonly id: string; readonly isMailed: boolean }) {
  return (
    <InlineForm
      action="Reply"
      start={{ body: '' }}
      fields={() => ({
        body: textArea('Reply', {
          rows: 6,
          required: true,
          maxLength: 20_000,
          hint: isMailed ? 'Your reply is mailed to the user.' : undefined,
        }),
      })}
      send={({ body }) => answerTicket({ id, body })}
      cleared={{ body: '' }}
      invalidates={[['support']]}
      done={isMailed ? 'Reply sent. A job mails it.' : 'Reply sent.'}
    />
  )
}
