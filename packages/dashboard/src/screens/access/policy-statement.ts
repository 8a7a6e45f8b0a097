import { quoteName } from '../../ui/sql.ts'
import type { PolicyEdit } from './api.ts'

/** Returns the SQL statement of the change, for a migration. Pure. */
export function policyStatement(
  table: { readonly schema: string; readonly name: string },
  { name, using, check, roles, permissive = true, command = 'SELECT' }: PolicyEdit,
  exists: boolean,
): string {
  const target = `policy ${quoteName(name)} on ${quoteName(table.schema)}.${quoteName(table.name)}`
  const clauses = [
    ...(roles === undefined ? [] : [` to ${roles.map(roleName).join(', ')}`]),
    ...(using === undefined ? [] : [` using (${using})`]),
    ...(check === undefined ? [] : [` with check (${check})`]),
  ].join('')
  if (exists) return `alter ${target}${clauses};`
  return `create ${target}${permissive ? '' : ' as restrictive'} for ${command.toLowerCase()}${clauses};`
}

/** Formats a role name. `public` is a keyword of SQL, not a role. */
const roleName = (role: string) => (role === 'public' ? role : quoteName(role))
