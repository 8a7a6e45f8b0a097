import { useState } from 'react'
import { Link } from 'wouter'
import { usePermissions } from '../../api/administrator.ts'
import { useAction, useApi } from '../../api/queries.ts'
import { auditLink, jobLink, requestLink, rowsLink, webhookLink } from '../../links.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { Badge, Notice, Section, Toolbar } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { UserLink } from '../activity/links.tsx'
import { StateBadge } from '../jobs/jobs.tsx'
import { replayDelivery } from '../webhooks/api.ts'
import { Outcome, TryDialog } from '../webhooks/trial.tsx'
import { type EventDetail as Detail, type EventJob, type EventWebhook, getEvent } from './api.ts'
import styles from './event-detail.module.css'
import { Streams } from './event-streams.tsx'

/** Shows an event from the write to each delivery attempt. */
export function EventDetail({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const query = useApi(['events', 'detail', id], (signal) => getEvent(id, signal), {
    refetchIntervalMs: 2000,
  })
  return (
    <SidePanel title={`Event ${id}`} size="wide" onClose={onClose}>
      <Loaded query={query}>{(event) => <Timeline event={event} />}</Loaded>
    </SidePanel>
  )
}

function Timeline({ event }: { readonly event: Detail }) {
  const { id, action, table, record, previousRecord } = event
  const may = usePermissions()
  return (
    <>
      <Toolbar label="Event">
        <AsCode
          request={{ method: 'GET', path: `/api/admin/events/${id}` }}
          sql={`select * from basalt.outbox where id = ${id}`}
        />
      </Toolbar>
      {!event.isInLog && <Notice>The change is no longer in the log. Its deliveries are kept longer.</Notice>}
      <ol className={styles.line} aria-label="Timeline">
        <li>
          <h3>
            {action} <Link href={rowsLink(table)}>{table}</Link> {record}
          </h3>
          {previousRecord !== null && <p>Its key was {previousRecord}.</p>}
          <p>
            <Time value={event.happenedAt} /> <Writer event={event} />
          </p>
        </li>
        {event.isInLog && (
          <li>
            <h3>Change log</h3>
            <p>
              Transaction <code>{event.transactionId}</code>.{' '}
              {event.consumers.map(({ name, hasTaken }) => (
                <Badge key={name} tone={hasTaken ? 'ok' : 'warning'}>
                  {name}: {hasTaken ? 'read' : 'not read yet'}
                </Badge>
              ))}
            </p>
          </li>
        )}
        {event.webhooks.length === 0 && (
          <li>
            <h3>Webhooks</h3>
            <p>No webhook subscribes to it.</p>
          </li>
        )}
        {event.webhooks.map((webhook) => (
          <li key={webhook.webhookId}>
            <Webhook webhook={webhook} />
          </li>
        ))}
        {event.isInLog && (
          <li>
            <h3>Streams</h3>
            <Streams event={event} />
          </li>
        )}
        {event.jobs.map((job) => (
          <li key={job.id}>
            <Job job={job} />
          </li>
        ))}
        {event.embeddings.map(({ name, state, error }) => (
          <li key={name}>
            <h3>Embedding {name}</h3>
            <p>
              <Badge tone={state === 'done' ? 'ok' : state === 'failed' ? 'danger' : 'warning'}>
                {state}
              </Badge>{' '}
              {error}
            </p>
          </li>
        ))}
      </ol>
      {may('bodies.read') && (
        <Section title="Payload">
          <Code label="payload">{event.payload}</Code>
        </Section>
      )}
    </>
  )
}

function Writer({ event: { actor, userId, apiKeyId, requestId } }: { readonly event: Detail }) {
  return (
    <>
      {userId === null ? (
        actor !== null && <>by {actor}</>
      ) : (
        <>
          by <UserLink id={userId} />
        </>
      )}
      {apiKeyId !== null && (
        <>
          {' '}
          with the key <code>{apiKeyId}</code>
        </>
      )}
      {requestId !== null && (
        <>
          {' '}
          · <Link href={requestLink(requestId)}>request</Link> ·{' '}
          <Link href={auditLink({ request_id: requestId })}>audit</Link>
        </>
      )}
    </>
  )
}

const tones = { delivered: 'ok', failed: 'danger', pending: 'warning' } as const

function Webhook({ webhook }: { readonly webhook: EventWebhook }) {
  const { webhookId, url, state, attempts, next } = webhook
  const [isTrying, setTrying] = useState(false)
  const replay = useAction(replayDelivery, {
    invalidates: [['events'], ['webhooks']],
    done: ({ success }) => (success ? 'Redelivered.' : 'Sent again. The receiver did not accept it.'),
  })
  const last = attempts.at(-1)
  const may = usePermissions()
  return (
    <>
      <h3>
        Webhook{' '}
        {may('owner') ? <Link href={webhookLink(webhookId)}>{url}</Link> : url || <code>{webhookId}</code>}{' '}
        <Badge tone={tones[state]}>{state}</Badge>
      </h3>
      <ol className={styles.attempts} aria-label="Attempts">
        {attempts.map((attempt) => (
          <li key={attempt.id}>
            Attempt {attempt.attempt}: <Outcome attempt={attempt} /> <Time value={attempt.deliveredAt} />
            {attempt.error !== null && <p>{attempt.error}</p>}
            {attempt.responseBody !== null && attempt.responseBody !== '' && (
              <details>
                <summary>Response</summary>
                <Code label="response">{attempt.responseBody}</Code>
              </details>
            )}
          </li>
        ))}
      </ol>
      {next !== null && <Next next={next} />}
      {last !== undefined && may('operations.write') && (
        <p>
          <Button
            size="small"
            isPending={replay.isPending}
            onClick={() => replay.run({ webhookId, id: last.id })}
          >
            Redeliver
          </Button>{' '}
          <Button size="small" onClick={() => setTrying(true)}>
            Send to another URL…
          </Button>
        </p>
      )}
      {isTrying && last !== undefined && (
        <TryDialog webhookId={webhookId} deliveryId={last.id} onClose={() => setTrying(false)} />
      )}
    </>
  )
}

function Next({ next }: { readonly next: NonNullable<EventWebhook['next']> }) {
  if (!next.isWebhookEnabled) return <p>Waiting: the webhook is disabled.</p>
  if (next.isInFlight) return <p>An attempt is in flight.</p>
  if (next.waitsForEarlier) return <p>Waiting for an earlier event of the same record.</p>
  return (
    <p>
      Next attempt <Time value={next.dueAt} />.
    </p>
  )
}

function Job({ job: { id, type, state, attempts, maxAttempts, lastError } }: { readonly job: EventJob }) {
  return (
    <>
      <h3>
        Job <Link href={jobLink(id)}>{type}</Link> <StateBadge state={state} />
      </h3>
      <p>
        Added in the same transaction. Attempts: {attempts} of {maxAttempts}.
        {lastError !== null && <> {lastError}</>}
      </p>
    </>
  )
}
