import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Code } from '../../ui/code.tsx'
import { Icon } from '../../ui/icon.tsx'
import { firstPolicy, firstTable } from '../structure/first-table.ts'
import type { Report } from './api.ts'
import styles from './home.module.css'

/** Renders the steps from an empty server to an app that uses it. Each is ticked when it is done. */
export function FirstSteps({ steps }: { readonly steps: Report['steps'] }) {
  const client = `import { createClient } from '@basaltdb/client'
const db = createClient({ url: '${location.origin}' })
await db.from('note').list()`
  return (
    <section className={styles.steps} aria-labelledby="first-steps">
      <h2 id="first-steps">From an empty database to your app</h2>
      <ol>
        <Step
          isDone={steps.table}
          title="A table"
          action={
            <>
              Create it in <Link href="/structure">Structure</Link>, or run this in{' '}
              <Link href="/sql">SQL</Link>.
            </>
          }
        >
          <Code label="First table">{firstTable}</Code>
        </Step>
        <Step
          isDone={steps.policy}
          title="A policy"
          action={
            <>
              It decides who reads and writes which rows. <Link href="/access">Access</Link> explains its
              effect.
            </>
          }
        >
          <Code label="First policy">{firstPolicy}</Code>
        </Step>
        <Step
          isDone={steps.user}
          title="A user"
          action={
            <>
              Create or invite one in <Link href="/users">Users</Link>, or sign up in your app.
            </>
          }
        />
        <Step
          isDone={steps.app}
          title="Your app, connected"
          action={
            <>
              Programs without a user take an <Link href="/api-keys">API key</Link>.
            </>
          }
        >
          <Code label="Client">{client}</Code>
        </Step>
      </ol>
    </section>
  )
}

interface StepProps {
  readonly isDone: boolean
  readonly title: string
  readonly action: ReactNode
  readonly children?: ReactNode
}

/** Renders a step. The code of a step that is done is hidden. */
function Step({ isDone, title, action, children }: StepProps) {
  return (
    <li data-done={isDone}>
      <span className={styles.tick}>{isDone && <Icon name="check" size={12} />}</span>
      <div>
        <h3>
          {title}
          {isDone && <span className="visually-hidden"> (done)</span>}
        </h3>
        {!isDone && <p>{action}</p>}
        {!isDone && children}
      </div>
    </li>
  )
}
