import type { ComponentProps, ReactNode } from 'react'
import type { Need } from '../api/administrator.ts'
import { AsCode, type AsCodeProps } from './as-code.tsx'
import { Button } from './button.tsx'
import styles from './layout.module.css'

interface PageHeaderProps {
  readonly title: ReactNode
  /** Description of the view, in one sentence. */
  readonly children?: ReactNode
  /** Request, SQL or command line that returns what the view shows. */
  readonly asCode?: AsCodeProps
  /** Main action of the view, with its permission: `change`, unless set. */
  readonly action?: readonly [label: string, run: () => void, needs?: Need]
  /** Further actions. */
  readonly actions?: ReactNode
}

/** Renders the heading of a view, which receives the focus after navigation. */
export function PageHeader({ title, children, asCode, action, actions }: PageHeaderProps) {
  return (
    <header className={styles.header}>
      <div>
        <h1 tabIndex={-1} data-page-title>
          {title}
        </h1>
        {children !== undefined && <p className={styles.lead}>{children}</p>}
      </div>
      {(asCode ?? action ?? actions) !== undefined && (
        <div className={styles.actions}>
          {asCode !== undefined && <AsCode {...asCode} />}
          {actions}
          {action !== undefined && (
            <Button variant="primary" needs={action[2] ?? 'change'} onClick={action[1]}>
              {action[0]}
            </Button>
          )}
        </div>
      )}
    </header>
  )
}

/** Renders filters and actions above a list. */
export function Toolbar({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <search className={styles.toolbar} aria-label={label}>
      {children}
    </search>
  )
}

interface FilterFieldProps extends Omit<ComponentProps<'input'>, 'value' | 'onChange'> {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}

/** Renders a filter of a list. The key `/` moves the focus to the first one of a view. */
export function FilterField({ label, onChange, ...rest }: FilterFieldProps) {
  return (
    <input
      {...rest}
      type="search"
      data-filter
      className={styles.filter}
      aria-label={label}
      placeholder={rest.placeholder ?? label}
      autoComplete="off"
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}

export type Tone = 'neutral' | 'accent' | 'ok' | 'warning' | 'danger'

/** Renders a state as a word. The colour only repeats it. */
export function Badge({
  tone = 'neutral',
  children,
}: {
  readonly tone?: Tone
  readonly children: ReactNode
}) {
  return (
    <span className={styles.badge} data-tone={tone}>
      {children}
    </span>
  )
}

/** Renders a message or instruction above the content that it concerns. */
export function Notice({
  tone = 'accent',
  children,
}: {
  readonly tone?: Tone
  readonly children: ReactNode
}) {
  return (
    <div className={styles.notice} data-tone={tone}>
      {children}
    </div>
  )
}

interface KeyValueProps {
  readonly items?: Readonly<Record<string, ReactNode>>
  /** Names that are not known in advance, with their values. */
  readonly pairs?: readonly (readonly [string, ReactNode])[]
}

/** Renders the properties of one object. */
export function KeyValue({ items = {}, pairs = Object.entries(items) }: KeyValueProps) {
  return (
    <dl className={styles.keyValue}>
      {pairs.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Renders a part of a view with its own heading. */
export function Section({
  title,
  actions,
  children,
}: {
  readonly title: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}) {
  return (
    <section className={styles.section}>
      <header>
        <h2>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  )
}

/** Renders fields below each other, and the buttons that submit them. */
export function Form({
  onSubmit,
  ...rest
}: Omit<ComponentProps<'form'>, 'onSubmit'> & { onSubmit: () => void }) {
  return (
    <form
      noValidate
      {...rest}
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    />
  )
}
