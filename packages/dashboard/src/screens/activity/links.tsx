import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useUserName } from '../../api/user-names.ts'
import { requestLink, rowsLink, userLink } from '../../links.ts'
import { visibleText } from '../../ui/visible-text.ts'

/** Renders a link to everything with the id of a request. */
export function RequestLink({ id }: { readonly id: string | null }) {
  return id === null ? '–' : <Link href={requestLink(id)}>{shorten(id)}</Link>
}

/** Renders a link to a user, by the name or else the start of the id. */
export function UserLink({ id }: { readonly id: string | null }) {
  return id === null ? '–' : <NamedUser id={id} />
}

function NamedUser({ id }: { readonly id: string }) {
  const name = useUserName(id)
  return (
    <Link href={userLink(id)} title={id}>
      {typeof name === 'string' ? visibleText(name) : shorten(id)}
    </Link>
  )
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
