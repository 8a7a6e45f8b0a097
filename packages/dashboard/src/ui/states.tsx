import { isBasaltError } from '@basaltdb/client'
import type { UseQueryResult } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext } from 'react'
import { type Need, usePermissions } from '../api/administrator.ts'
import { Button, LinkButton } from './button.tsx'
import { Code } from './code.tsx'
import { Icon, type IconName } from './icon.tsx'
import { Notice } from './layout.tsx'
import styles from './states.module.css'

/** Renders an empty state: the reason, and what to do. */
export function Empty({ children }: { readonly children: ReactNode }) {
  return <div className={styles.empty}>{children}</div>
}

/** Icon of the current screen. */
export const ScreenIcon = createContext<IconName>('list')

/** Button and code of an empty list, below its sentence. */
export interface Lesson {
  /** Button that adds the first row or leads to a path, with its permission: `change`, unless set. */
  readonly first?: readonly [label: string, act: string | (() => void), needs?: Need] | undefined
  /** Code that adds a row, up to three lines, and its label for screen readers. */
  readonly example?: readonly [code: string, label?: string] | undefined
}

interface EmptyStateProps extends Lesson {
  /** Icon, if it is not that of the screen. */
  readonly icon?: IconName
  /** Purpose of the empty list, in one or two sentences. */
  readonly children: ReactNode
}

/** Renders an empty list for a person who sees it for the first time. */
export function EmptyState({ icon, children, first, example }: EmptyStateProps) {
  const ofScreen = useContext(ScreenIcon)
  const may = usePermissions()
  const [action, act, needs = 'change'] = first ?? []
  const [code, label = 'Example'] = example ?? []
  return (
    <div className={styles.emptyState}>
      <span className={styles.picture}>
        <Icon name={icon ?? ofScreen} size={22} />
      </span>
      <p>{children}</p>
      {code !== undefined && <Code label={label}>{code}</Code>}
      {typeof act === 'string' && may(needs) && <LinkButton href={act}>{action}</LinkButton>}
      {typeof act === 'function' && (
        <Button variant="primary" needs={needs} onClick={act}>
          {action}
        </Button>
      )}
    </div>
  )
}

export function Spinner({ label = 'Loading' }: { readonly label?: string }) {
  return (
    <p className={styles.spinner} role="status">
      {label}…
    </p>
  )
}

interface FailureProps {
  readonly error: unknown
  readonly onRetry?: () => void
}

/** Configuration keys that enable a part of the server, by the error for the missing key. */
const switches: Readonly<Record<string, string>> = {
  jobs_disabled: 'jobs.enabled',
  oauth_provider_disabled: 'auth.oauth_provider.enabled',
  push_disabled: 'push.enabled',
  storage_not_enabled: 'storage.enabled',
}

/** Renders an error of the server, with the ids to search its log for. */
export function Failure({ error, onRetry }: FailureProps) {
  const message = error instanceof Error ? error.message : String(error)
  const key = isBasaltError(error) ? switches[error.error] : undefined
  if (key !== undefined) {
    return (
      <Notice>
        {message.charAt(0).toUpperCase() + message.slice(1)}. Set <code>{key} = true</code> in the
        configuration, and restart the server.
      </Notice>
    )
  }
  return (
    <div ref={reveal} className={styles.failure} role="alert">
      <p>
        <strong>Failed: </strong>
        {message}
      </p>
      {isBasaltError(error) && (
        <p className={styles.detail}>
          <code>{error.error}</code>
          {error.status > 0 && <> · status {error.status}</>}
          {error.requestId !== undefined && (
            <>
              {' '}
              · request <code>{error.requestId}</code>
            </>
          )}
        </p>
      )}
      {onRetry !== undefined && (
        <Button size="small" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** Renders the result of an action, and scrolls it into view. */
export function Revealed({ children }: { readonly children: ReactNode }) {
  return <div ref={reveal}>{children}</div>
}

const reveal = (element: Element | null) => element?.scrollIntoView({ block: 'nearest' })

interface LoadedProps<T> {
  readonly query: Pick<UseQueryResult<T>, 'data' | 'error' | 'refetch'>
  readonly children: (data: T) => ReactNode
}

/** Renders the response of a query. Until then it shows a loading state or the error. */
export function Loaded<T>({ query, children }: LoadedProps<T>) {
  // An older response is better than none.
  if (query.data !== undefined) return children(query.data)
  if (query.error !== null) return <Failure error={query.error} onRetry={() => void query.refetch()} />
  return <Spinner />
}

interface LoadedRowsProps<Row> {
  readonly list: {
    readonly rows: readonly Row[] | undefined
    readonly error: Error | null
    readonly refetch: () => void
  }
  readonly children: (rows: readonly Row[]) => ReactNode
}

/** Renders a list that is read page by page, as `Loaded` does for a query. */
export function LoadedRows<Row>({ list, children }: LoadedRowsProps<Row>) {
  if (list.rows !== undefined) return children(list.rows)
  if (list.error !== null) return <Failure error={list.error} onRetry={list.refetch} />
  return <Spinner />
}
