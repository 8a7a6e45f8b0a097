import type { ComponentProps, ReactNode } from 'react'
import styles from './layout.module.css'

interface PageHeaderProps {
  readonly title: ReactNode
  /** One sentence. */
  readonly children?: ReactNode
  readonly actions?: ReactNode
}

/** The heading of a view, which takes the focus after navigation. */
export function PageHeader({ title, children, actions }: PageHeaderProps) {
  return (
    <header className={styles.header}>
      <div>
        <h1 tabIndex={-1} data-page-title>
          {title}
        </h1>
        {children !== undefined && <p className={styles.lead}>{children}</p>}
      </div>
      {actions !== undefined && <div className={styles.actions}>{actions}</div>}
    </header>
  )
}

/** Filters and actions above a list. */
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

/** Narrows a list down; the key `/` goes to the first one of a view. */
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

/** A state in a word; the colour only repeats it. */
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

/** What is to be known or done, above what it is about. */
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

/** Properties of one thing. */
export function KeyValue({ items }: { readonly items: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={styles.keyValue}>
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** A part of a view with a heading of its own. */
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

/** Fields below each other, and the buttons that send them. */
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
