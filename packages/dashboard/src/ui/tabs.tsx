import { Tabs as Parts } from '@base-ui/react/tabs'
import type { ReactNode } from 'react'
import styles from './tabs.module.css'

export interface TabItem {
  readonly value: string
  readonly label: ReactNode
  readonly content: ReactNode
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
  return (
    <Parts.Root value={value} onValueChange={(next) => onChange(String(next))}>
      <div className={styles.bar}>
        <Parts.List className={styles.list} aria-label={label}>
          {tabs.map((tab) => (
            <Parts.Tab key={tab.value} value={tab.value} className={styles.tab}>
              {tab.label}
            </Parts.Tab>
          ))}
        </Parts.List>
        {actions}
      </div>
      {tabs.map((tab) => (
        <Parts.Panel key={tab.value} value={tab.value} className={styles.panel}>
          {tab.content}
        </Parts.Panel>
      ))}
    </Parts.Root>
  )
}
