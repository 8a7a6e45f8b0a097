import type { ComponentProps } from 'react'
import styles from './button.module.css'

export interface ButtonProps extends ComponentProps<'button'> {
  /** `primary` at most once in a view; `danger` for what cannot be undone; `plain` inside of text and rows. */
  readonly look?: 'primary' | 'normal' | 'danger' | 'plain'
  readonly size?: 'normal' | 'small'
  /** Disabled, and says why to screen readers. */
  readonly isPending?: boolean
}

export function Button({
  look = 'normal',
  size = 'normal',
  isPending = false,
  disabled,
  type = 'button',
  className,
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      data-look={look}
      data-size={size}
      aria-busy={isPending || undefined}
      disabled={isPending || disabled}
      className={className === undefined ? styles.button : `${styles.button} ${className}`}
    />
  )
}
