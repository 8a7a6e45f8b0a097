import { useEffect, useRef, useState } from 'react'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { countOf } from '../../ui/format.ts'
import { Badge, Toolbar } from '../../ui/layout.tsx'
import { EmptyState, Failure } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import type { Subscriber } from './api.ts'
import styles from './realtime.module.css'
import { SubscriberForm } from './subscriber-form.tsx'
import { type WatchedMessage, watch } from './watch.ts'

const mostShown = 200

type State = 'idle' | 'connecting' | 'connected'

/** Subscribes in the page and shows the messages that arrive. */
export function Inspector() {
  const [subscriber, setSubscriber] = useState<Subscriber>()
  const [state, setState] = useState<State>('idle')
  const [error, setError] = useState<unknown>()
  const [messages, setMessages] = useState<readonly WatchedMessage[]>([])
  const running = useRef<AbortController>(undefined)
  const stop = () => {
    running.current?.abort()
    setState('idle')
  }
  useEffect(() => () => running.current?.abort(), [])

  function start(next: Subscriber): void {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    setSubscriber(next)
    setMessages([])
    setError(undefined)
    setState('connecting')
    const handlers = {
      connected: () => setState('connected'),
      received: (message: WatchedMessage) =>
        setMessages((before) => [message, ...before].slice(0, mostShown)),
    }
    watch(next, controller.signal, handlers)
      .catch((failure) => {
        if (!controller.signal.aborted) setError(failure)
      })
      .finally(() => {
        if (running.current === controller) setState('idle')
      })
  }

  return (
    <>
      <SubscriberForm action="Subscribe" onSubmit={start} />
      <Toolbar label="Stream">
        <span role="status">
          <Badge tone={state === 'connected' ? 'ok' : 'neutral'}>
            {state === 'connected' ? 'Connected' : state === 'connecting' ? 'Connecting' : 'Not connected'}
          </Badge>
        </span>
        <Button onClick={stop} disabled={state === 'idle'}>
          Stop
        </Button>
        {subscriber !== undefined && (
          <AsCode
            request={{
              method: 'GET',
              path: `/api/admin/realtime/stream?tables=${encodeURIComponent(subscriber.tables)}`,
            }}
          />
        )}
      </Toolbar>
      {error !== undefined && <Failure error={error} />}
      {messages.length === 0 ? (
        <EmptyState>
          {state === 'connected'
            ? 'Waiting for changes. Change a row of the table, and its message appears here.'
            : 'Subscribe as a user, and see the messages that this user receives.'}
        </EmptyState>
      ) : (
        <ol className={styles.messages} aria-label="Received messages" aria-live="polite">
          {messages.map((message) => (
            <li key={message.id}>
              <Time value={message.at} /> <Content message={message} />
            </li>
          ))}
        </ol>
      )}
    </>
  )
}

function Content({ message: { kind, data } }: { readonly message: WatchedMessage }) {
  if (kind === 'withheld')
    return <Badge tone="warning">{countOf(Number(data), 'change')} not sent to this subscriber</Badge>
  return (
    <>
      {kind === 'gap' && <Badge tone="warning">gap</Badge>} <code>{data}</code>
    </>
  )
}
