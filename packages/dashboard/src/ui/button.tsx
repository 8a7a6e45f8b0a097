import type { ComponentProps, ReactNode } from 'react'
import { Link } from 'wouter'
import { type Need, usePermissions } from '../api/administrator.ts'
import styles from './button.module.css'

export interface ButtonProps extends ComponentProps<'button'> {
  /** Variant: `primary` at most once in a view, `danger` for actions that cannot be undone, `plain` inside text and rows. */
  readonly variant?: 'primary' | 'normal' | 'danger' | 'plain'
  readonly size?: 'normal' | 'small'
  /** True to disable the button and announce the reason to screen readers. */
  readonly isPending?: boolean
  /** Permission without which the button is not rendered. */
  readonly needs?: Need
}

export function Button({
  variant = 'normal',
  size = 'normal',
  isPending = false,
  disabled,
  type = 'button',
  className,
  needs,
  ...rest
}: ButtonProps) {
  const may = usePermissions()
  if (needs !== undefined && !may(needs)) return null
  return (
    <button
      {...rest}
      type={type}
      data-variant={variant}
      data-size={size}
      aria-busy={isPending || undefined}
      disabled={isPending || disabled}
      className={className === undefined ? styles.button : `${styles.button} ${className}`}
    />
  )
}

/** Renders a link to a screen as the primary button of a view. */
export function LinkButton({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  return (
    <Link href={href} className={styles.button} data-variant="primary">
      {children}
    </Link>
  )
}
