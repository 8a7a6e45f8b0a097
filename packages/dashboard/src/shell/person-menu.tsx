import { useRef, useState } from 'react'
import { currentAdministrator } from '../api/administrator.ts'
import { useAction } from '../api/queries.ts'
import { useStore } from '../api/store.ts'
import { Icon } from '../ui/icon.tsx'
import { OwnFactorsDialog } from './later-parts.tsx'
import styles from './navigation.module.css'
import { changePreferences } from './preferences.ts'
import { signOut } from './session.ts'
import { type Theme, themes } from './theme.ts'

interface PersonMenuProps {
  readonly theme: Theme
  readonly onKeys: () => void
}

const id = 'person-menu'
const labels: Readonly<Record<Theme, string>> = { system: 'System', light: 'Light', dark: 'Dark' }

/** Renders the person, with the choices that concern the person alone. */
export function PersonMenu({ theme, onKeys }: PersonMenuProps) {
  const menu = useRef<HTMLDivElement>(null)
  const end = useAction(signOut)
  const [areFactorsOpen, setFactorsOpen] = useState(false)
  const administrator = useStore(currentAdministrator)
  return (
    <>
      <button type="button" className={styles.person} popoverTarget={id}>
        <Icon name="person" />
        {administrator?.email ?? 'Administrator'}
      </button>
      <div ref={menu} id={id} popover="auto" className={styles.menu}>
        <fieldset className={styles.themes}>
          <legend className="visually-hidden">Theme</legend>
          {themes.map((each) => (
            <label key={each}>
              <input
                type="radio"
                name="theme"
                className="visually-hidden"
                checked={each === theme}
                onChange={() => void changePreferences({ theme: each })}
              />
              {labels[each]}
            </label>
          ))}
        </fieldset>
        {administrator?.administratorId != null && (
          <button
            type="button"
            onClick={() => {
              menu.current?.hidePopover()
              setFactorsOpen(true)
            }}
          >
            Second factor
          </button>
        )}
        <a href="/docs">Documentation</a>
        <button
          type="button"
          onClick={() => {
            menu.current?.hidePopover()
            onKeys()
          }}
        >
          Keyboard shortcuts <kbd>?</kbd>
        </button>
        <button type="button" disabled={end.isPending} onClick={() => end.run()}>
          Sign out
        </button>
      </div>
      {areFactorsOpen && <OwnFactorsDialog onClose={() => setFactorsOpen(false)} />}
    </>
  )
}
