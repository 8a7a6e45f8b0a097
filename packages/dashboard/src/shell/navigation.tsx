import { useEffect } from 'react'
import { Link, useLocation } from 'wouter'
import { usePermissions } from '../api/administrator.ts'
import { groups, type Screen, screens } from '../screens.ts'
import { Button } from '../ui/button.tsx'
import { Icon, type IconName, Mark } from '../ui/icon.tsx'
import { isWithin, tabsOf } from './location.ts'
import styles from './navigation.module.css'
import { PersonMenu } from './person-menu.tsx'
import { changePreferences, usePreferences } from './preferences.ts'
import { applyTheme } from './theme.ts'

interface NavigationProps {
  /** True if the menu is open. Applies to narrow screens only. */
  readonly isUnfolded: boolean
  readonly onSearch: () => void
  readonly onKeys: () => void
}

export function Navigation({ isUnfolded, onSearch, onKeys }: NavigationProps) {
  const [path] = useLocation()
  const preferences = usePreferences()
  const theme = preferences?.theme
  useEffect(() => {
    if (theme !== undefined) applyTheme(theme)
  }, [theme])
  const folded = preferences?.foldedGroups ?? []
  const may = usePermissions()
  const settings = screens.find(({ path: at, permission }) => at === '/settings' && may(permission))
  return (
    <nav id="navigation" className={styles.navigation} aria-label="Screens" data-unfolded={isUnfolded}>
      <Link href="/" className={styles.brand} aria-label="Basalt, Home">
        <Mark />
        Basalt
      </Link>
      <Button className={styles.search} onClick={onSearch}>
        <Icon name="search" size={14} />
        <span>Search</span>
        <kbd>Ctrl K</kbd>
      </Button>
      <div className={styles.groups}>
        <ul className={styles.list}>
          <Entry href="/" icon="home" title="Home" isCurrent={path === '/'} />
        </ul>
        {groups.map((group) => {
          const isFolded = folded.includes(group)
          const entries = screens.filter(({ entry, permission }) => entry?.group === group && may(permission))
          return (
            <section key={group} aria-label={group}>
              <h2>
                <button
                  type="button"
                  className={styles.title}
                  aria-expanded={!isFolded}
                  onClick={() =>
                    void changePreferences({
                      foldedGroups: isFolded ? folded.filter((name) => name !== group) : [...folded, group],
                    })
                  }
                >
                  {group}
                  <Icon name="chevron" size={12} />
                </button>
              </h2>
              <ul className={styles.list}>
                {entries
                  .filter((screen) => !isFolded || isOpen(screen, path))
                  .map((screen) => (
                    <ScreenEntry key={screen.path} screen={screen} path={path} />
                  ))}
              </ul>
            </section>
          )
        })}
      </div>
      <div className={styles.footer}>
        <ul className={styles.list}>
          {settings !== undefined && <ScreenEntry screen={settings} path={path} />}
        </ul>
        <PersonMenu theme={theme ?? 'system'} onKeys={onKeys} />
      </div>
    </nav>
  )
}

const isOpen = (screen: Screen, path: string) => tabsOf(screen).some((tab) => isWithin(path, tab.path))

function ScreenEntry({ screen, path }: { readonly screen: Screen; readonly path: string }) {
  const { entry, title } = screen
  if (entry === undefined) return null
  return (
    <Entry
      href={screen.path}
      icon={entry.icon}
      title={entry.title ?? title}
      isCurrent={isOpen(screen, path)}
    />
  )
}

interface EntryProps {
  readonly href: string
  readonly icon: IconName
  readonly title: string
  readonly isCurrent: boolean
}

function Entry({ href, icon, title, isCurrent }: EntryProps) {
  return (
    <li>
      <Link href={href} aria-current={isCurrent ? 'page' : undefined}>
        <Icon name={icon} />
        {title}
      </Link>
    </li>
  )
}
