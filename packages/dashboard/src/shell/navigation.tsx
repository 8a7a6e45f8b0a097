import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useAction } from '../api/queries.ts'
import { screens, sections } from '../screens.ts'
import { Button } from '../ui/button.tsx'
import { Select } from '../ui/field.tsx'
import { isWithin } from './location.ts'
import styles from './navigation.module.css'
import { signOut } from './session.ts'
import { chooseTheme, chosenTheme } from './theme.ts'

interface NavigationProps {
  /** True if the menu is open. Applies to narrow screens only. */
  readonly isUnfolded: boolean
  readonly onSearch: () => void
  readonly onKeys: () => void
}

export function Navigation({ isUnfolded, onSearch, onKeys }: NavigationProps) {
  const [path] = useLocation()
  return (
    <nav id="navigation" className={styles.navigation} aria-label="Screens" data-unfolded={isUnfolded}>
      <Link href="/" className={styles.home} aria-current={path === '/' ? 'page' : undefined}>
        Basalt
      </Link>
      <Button className={styles.search} onClick={onSearch}>
        Search <kbd>Ctrl K</kbd>
      </Button>
      {sections.map((section) => {
        const items = screens.filter((screen) => screen.section === section)
        return (
          items.length > 0 && (
            <section key={section} aria-label={section}>
              <h2 className={styles.title}>{section}</h2>
              <ul className={styles.list}>
                {items.map((screen) => (
                  <li key={screen.path}>
                    <Link href={screen.path} aria-current={isWithin(path, screen.path) ? 'page' : undefined}>
                      {screen.title}
                    </Link>
                  </li>
                ))}
              </ul>
            </section>
          )
        )
      })}
      <footer className={styles.footer}>
        <a href="/docs" className={styles.documentation}>
          Documentation
        </a>
        <Button variant="plain" onClick={onKeys}>
          Keyboard shortcuts
        </Button>
        <ThemeChoice />
        <SignOut />
      </footer>
    </nav>
  )
}

function ThemeChoice() {
  const [theme, setTheme] = useState(chosenTheme)
  return (
    <Select
      label="Theme"
      hidesLabel
      value={theme}
      choices={[
        { value: 'system', label: 'System theme' },
        { value: 'light', label: 'Light theme' },
        { value: 'dark', label: 'Dark theme' },
      ]}
      onChange={(next) => {
        setTheme(next)
        chooseTheme(next)
      }}
    />
  )
}

function SignOut() {
  const action = useAction(signOut)
  return (
    <Button onClick={() => action.run()} isPending={action.isPending}>
      Sign out
    </Button>
  )
}
