import { type ComponentType, lazy, Suspense, useEffect } from 'react'
import { Link, Redirect, useLocation } from 'wouter'
import { ChangePermission, usePermissions } from '../api/administrator.ts'
import { loadPart } from '../api/load-part.ts'
import { useStore } from '../api/store.ts'
import { type Screen, screens } from '../screens.ts'
import { PageHeader } from '../ui/layout.tsx'
import { ScreenIcon, Spinner } from '../ui/states.tsx'
import { ErrorBoundary } from './error-boundary.tsx'
import { useFocusOnNavigation } from './focus.ts'
import styles from './frame.module.css'
import { screenOf, tabsOf } from './location.ts'
import { pageTitle } from './page-title.ts'

const views = new Map<Screen, ComponentType>(
  screens.map((screen) => [screen, lazy(async () => ({ default: await loadPart(screen.load) }))]),
)
const Home = lazy(async () => ({
  default: (await loadPart(() => import('../screens/home/home.tsx'))).HomeScreen,
}))

/** Path of one-time sign-in links. For a signed-in user it leads to Home. */
const signInPath = '/sign-in'

/** Shows the screen of the current path. A failure of one screen leaves the others usable. */
export function ScreenView() {
  const [path] = useLocation()
  const screen = screenOf(path)
  const isHome = path === '/' || path === signInPath
  const View = isHome ? Home : screen === undefined ? NotFound : (views.get(screen) ?? NotFound)
  const title = screen?.title ?? (isHome ? 'Home' : 'Not found')
  const key = screen?.path ?? path
  const viewTitle = useStore(pageTitle)
  const may = usePermissions()
  useEffect(() => {
    document.title = [viewTitle ?? [], title, 'Basalt'].flat().join(' · ')
  }, [viewTitle, title])
  useFocusOnNavigation(key, 'content')
  if (path === signInPath) return <Redirect to="/" replace />
  return (
    <ChangePermission value={screen?.change ?? 'account'}>
      <ScreenIcon value={screen === undefined ? 'list' : iconOf(screen)}>
        {screen !== undefined && <ScreenTabs screen={screen} />}
        <ErrorBoundary key={key}>
          <Suspense fallback={<Spinner />}>
            {screen === undefined || may(screen.permission) ? <View /> : <NoAccess />}
          </Suspense>
        </ErrorBoundary>
      </ScreenIcon>
    </ChangePermission>
  )
}

function NoAccess() {
  return <PageHeader title="No access">Your role has no access to this screen.</PageHeader>
}

/** Returns the icon of a screen, or of the screen of which it is a tab. */
const iconOf = (screen: Screen) => tabsOf(screen)[0]?.entry?.icon ?? 'list'

/** Renders the screens that belong together. */
function ScreenTabs({ screen }: { readonly screen: Screen }) {
  const may = usePermissions()
  const tabs = tabsOf(screen).filter(({ permission }) => may(permission))
  const [first] = tabs
  if (first === undefined || tabs.length === 1) return null
  return (
    <nav className={styles.tabs} aria-label={first.entry?.title ?? first.title}>
      {tabs.map(({ path, title }) => (
        <Link key={path} href={path} aria-current={path === screen.path ? 'page' : undefined}>
          {title}
        </Link>
      ))}
    </nav>
  )
}

function NotFound() {
  return (
    <PageHeader title="Not found">
      There is no page at this address. <Link href="/">Home</Link>
    </PageHeader>
  )
}
