import { Link } from 'wouter'
import { previewLink } from '../../links.ts'
import { countOf } from '../../ui/format.ts'
import { UserLink } from '../activity/links.tsx'
import type { EventDetail, NodeDelivery } from './api.ts'
import styles from './event-detail.module.css'

/** Lists the streams that received the event. */
export function Streams({ event: { streams, table, userId } }: { readonly event: EventDetail }) {
  const { isLogged, record, sent, nodes } = streams
  return (
    <>
      {sent.length === 0 && <p>{withoutRecord(isLogged, record)}</p>}
      {sent.length > 0 && (
        <ul className={styles.attempts} aria-label="Nodes">
          {sent.map((node, index) => (
            // A node is listed several times if a client resumed later.
            // biome-ignore lint/suspicious/noArrayIndexKey: rows are added at the end
            <NodeStreams key={index} sent={node} />
          ))}
        </ul>
      )}
      {sent.length > 0 && record === 'incomplete' && (
        <p>A node exceeded its recording limit, so there may be further streams.</p>
      )}
      <p>
        <Link href={previewLink({ tables: table, as: userId ?? 'admin' })}>Preview</Link> evaluates again what
        a subscriber would receive.
        {nodes.length > 0 && <> Open streams of the table: {totalOf(nodes)}.</>}
      </p>
    </>
  )
}

function withoutRecord(isLogged: boolean, record: EventDetail['streams']['record']): string {
  if (record === 'pending') return 'Nodes record the streams within two seconds.'
  if (record === 'incomplete')
    return 'Not recorded: a node exceeded its recording limit, or the event is too old.'
  return isLogged
    ? 'No stream of this table was open.'
    : 'No stream was subscribed to this table at that time.'
}

function NodeStreams({ sent: { node, sent, withheld, receivers } }: { readonly sent: NodeDelivery }) {
  const others = sent - receivers.length
  return (
    <li>
      Node <code>{node.slice(0, 8)}</code>: sent to {countOf(sent, 'stream')}
      {receivers.length > 0 && ' of '}
      {receivers.map(({ connection, caller, userId }, index) => (
        <span key={connection}>
          {index > 0 && ', '}
          {userId === null ? callers[caller] : <UserLink id={userId} />}
        </span>
      ))}
      {others > 0 && receivers.length > 0 && <> and {others} more</>}
      {withheld > 0 && <>; withheld from {withheld} by their policies or filters</>}
    </li>
  )
}

const callers = {
  user: 'a user',
  anonymous: 'a caller without a token',
  admin: 'an administrator',
  open: 'a caller (auth is off)',
} as const

const totalOf = (nodes: EventDetail['streams']['nodes']) =>
  nodes.reduce((total, { connections }) => total + connections, 0)
