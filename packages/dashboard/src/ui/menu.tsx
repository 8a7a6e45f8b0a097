import { Menu as Parts } from '@base-ui/react/menu'
import type { ReactNode } from 'react'
import { type Need, usePermissions } from '../api/administrator.ts'
import buttonStyles from './button.module.css'
import styles from './menu.module.css'

export interface MenuItem {
  readonly label: string
  readonly onSelect: () => void
  readonly disabled?: boolean
  readonly isDangerous?: boolean
  /** Permission without which the item is not rendered. */
  readonly needs?: Need
}

export interface MenuProps {
  /** Label of the button. */
  readonly label: ReactNode
  /** Label for screen readers, if the visible label is a symbol. */
  readonly name?: string
  readonly items: readonly MenuItem[]
  readonly size?: 'normal' | 'small'
}

/** Renders a button with further actions, unless the role may do none of them. */
export function Menu({ label, name, items, size = 'normal' }: MenuProps) {
  const may = usePermissions()
  const permitted = items.filter(({ needs }) => needs === undefined || may(needs))
  if (permitted.length === 0) return null
  return (
    <Parts.Root>
      <Parts.Trigger className={buttonStyles.button} data-size={size} aria-label={name}>
        {label}
      </Parts.Trigger>
      <Parts.Portal>
        <Parts.Positioner className={styles.positioner} align="end" sideOffset={4}>
          <Parts.Popup className={styles.popup}>
            {permitted.map((item) => (
              <Parts.Item
                key={item.label}
                className={styles.item}
                data-danger={item.isDangerous}
                disabled={item.disabled ?? false}
                onClick={item.onSelect}
              >
                {item.label}
              </Parts.Item>
            ))}
          </Parts.Popup>
        </Parts.Positioner>
      </Parts.Portal>
    </Parts.Root>
  )
}
