import { Tabs as Parts } from '@base-ui/react/tabs'
import type { ReactNode } from 'react'
import { type Need, usePermissions } from '../api/administrator.ts'
import styles from './tabs.module.css'

export interface TabItem {
  readonly value: string
  readonly label: ReactNode
  readonly content: ReactNode
  /** Permission without which the tab is not shown. */
  readonly needs?: Need
}

export interface TabsProps {
  readonly label: string
  readonly tabs: readonly TabItem[]
  /** Selected tab. The view stores it in the URL if the tab can be linked to. */
  readonly value: string
  readonly onChange: (value: string) => void
  /** Buttons beside the tabs. */
  readonly actions?: ReactNode
}

export function Tabs({ label, tabs, value, onChange, actions }: TabsProps) {
  const may = usePermissions()
  const permitted = tabs.filter(({ needs }) => needs === undefined || may(needs))
  const isPermitted = permitted.some((tab) => tab.value === value)
  return (
    <Parts.Root
      // Without a value, the tabs would ignore those of later renders.
      value={isPermitted ? value : (permitted[0]?.value ?? null)}
      onValueChange={(next) => onChange(String(next))}
    >
      <div className={styles.bar}>
        <Parts.List className={styles.list} aria-label={label}>
          {permitted.map((tab) => (
            <Parts.Tab key={tab.value} value={tab.value} className={styles.tab}>
              {tab.label}
            </Parts.Tab>
          ))}
        </Parts.List>
        {actions}
      </div>
      {permitted.map((tab) => (
        <Parts.Panel key={tab.value} value={tab.value} className={styles.panel}>
          {tab.content}
        </Parts.Panel>
      ))}
    </Parts.Root>
  )
}
