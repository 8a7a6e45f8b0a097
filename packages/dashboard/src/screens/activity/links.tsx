import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { requestLink, rowsLink, userLink } from '../../links.ts'

/** Renders a link to everything with the id of a request. */
export function RequestLink({ id }: { readonly id: string | null }) {
  return id === null ? '–' : <Link href={requestLink(id)}>{shorten(id)}</Link>
}

export function UserLink({ id, children }: { readonly id: string | null; readonly children?: ReactNode }) {
  return id === null ? '–' : <Link href={userLink(id)}>{children ?? shorten(id)}</Link>
}

/** Renders a link to a row, or to its table if the row is unknown. */
export function RowLink({ table, id }: { readonly table: string; readonly id: string | null }) {
  if (id === null) return <Link href={rowsLink(table)}>{table}</Link>
  return (
    <Link href={rowsLink(table, { row: id })}>
      {table} <code>{id}</code>
    </Link>
  )
}

/** Shortens a UUID to its first part, which is enough to recognize it. */
function shorten(id: string): ReactNode {
  return <code title={id}>{/^[0-9a-f-]{36}$/.test(id) ? id.slice(0, 8) : id}</code>
}
