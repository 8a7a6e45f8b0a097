import type { ReactNode } from 'react'
import { safeAddress } from './safe-address.ts'

/** Renders a link to a URL from data. Other URLs than web and mail addresses are shown as text. */
export function SafeLink({ href, children }: { readonly href: string; readonly children?: ReactNode }) {
  const address = safeAddress(href)
  if (address === undefined) return <>{children ?? href}</>
  return (
    <a href={address} target="_blank" rel="noopener noreferrer">
      {children ?? href}
    </a>
  )
}
