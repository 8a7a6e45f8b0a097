import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { Button } from '../ui/button.tsx'
import { ConnectionBanner } from './connection-banner.tsx'
import styles from './frame.module.css'
import { Navigation } from './navigation.tsx'
import { ScreenView } from './screen-view.tsx'

export function Frame() {
  const [isOpen, setOpen] = useState(false)
  const [path] = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: any navigation folds the navigation away.
  useEffect(() => setOpen(false), [path])
  return (
    <div className={styles.frame}>
      <a className={styles.skip} href="#content">
        Skip to content
      </a>
      <div className={styles.bar}>
        <Button aria-expanded={isOpen} aria-controls="navigation" onClick={() => setOpen(!isOpen)}>
          Menu
        </Button>
        <strong>Basalt</strong>
      </div>
      <Navigation isOpen={isOpen} />
      <main id="content" className={styles.content} tabIndex={-1}>
        <ConnectionBanner />
        <ScreenView />
      </main>
    </div>
  )
}
