import type { ReactNode } from 'react'
import { safeAddress } from './safe-address.ts'

/** A link to an address that comes from data: text where it is not an address of the web or of mail. */
export function SafeLink({ href, children }: { readonly href: string; readonly children?: ReactNode }) {
  const address = safeAddress(href)
  if (address === undefined) return <>{children ?? href}</>
  return (
    <a href={address} target="_blank" rel="noopener noreferrer">
      {children ?? href}
    </a>
  )
}
