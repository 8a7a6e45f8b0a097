import { quoteName } from '../../ui/sql.ts'
import type { PolicyEdit } from './api.ts'

/** What makes the change, for a migration. Pure. */
export function policyStatement(
  table: string,
  { name, using = 'true', permissive = true, command = 'SELECT' }: PolicyEdit,
  exists: boolean,
): string {
  const target = table.split('.').map(quoteName).join('.')
  if (exists) return `alter policy ${quoteName(name)} on ${target} using (${using});`
  const kind = permissive ? '' : ' as restrictive'
  return `create policy ${quoteName(name)} on ${target}${kind} for ${command.toLowerCase()} using (${using});`
}
