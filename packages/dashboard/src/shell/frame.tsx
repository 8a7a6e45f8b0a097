import { useCallback, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { loadPart } from '../api/load-part.ts'
import { Button } from '../ui/button.tsx'
import { Icon, Mark } from '../ui/icon.tsx'
import { SkipLink } from '../ui/skip-link.tsx'
import { ConnectionBanner } from './connection-banner.tsx'
import { ErrorBoundary } from './error-boundary.tsx'
import styles from './frame.module.css'
import { useKeys } from './keys.ts'
import { importPalette, KeysHelp, Palette } from './later-parts.tsx'
import { Navigation } from './navigation.tsx'
import { ScreenView } from './screen-view.tsx'

export function Frame() {
  const [isUnfolded, setUnfolded] = useState(false)
  const [overlay, setOverlay] = useState<'palette' | 'keys'>()
  const [path] = useLocation()
  const openPalette = useCallback(() => setOverlay('palette'), [])
  const openKeys = useCallback(() => setOverlay('keys'), [])
  const close = useCallback(() => setOverlay(undefined), [])
  useKeys({ openPalette, openHelp: openKeys })
  // The palette is loaded after the first view, so that it receives the keys that follow its shortcut.
  useEffect(() => void loadPart(importPalette).catch(() => undefined), [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: any navigation closes the menu.
  useEffect(() => setUnfolded(false), [path])
  return (
    <div className={styles.frame}>
      <SkipLink to="content">Skip to content</SkipLink>
      <div className={styles.bar}>
        <Button
          aria-expanded={isUnfolded}
          aria-controls="navigation"
          onClick={() => setUnfolded(!isUnfolded)}
        >
          <Icon name="menu" />
          Menu
        </Button>
        <strong>
          <Mark size={20} />
          Basalt
        </strong>
        <Button onClick={openPalette}>
          <Icon name="search" />
          Search
        </Button>
      </div>
      <Navigation isUnfolded={isUnfolded} onSearch={openPalette} onKeys={openKeys} />
      <main id="content" className={styles.content} tabIndex={-1}>
        <ConnectionBanner />
        <ScreenView />
      </main>
      <ErrorBoundary>
        {overlay === 'palette' && <Palette onClose={close} />}
        {overlay === 'keys' && <KeysHelp onClose={close} />}
      </ErrorBoundary>
    </div>
  )
}
