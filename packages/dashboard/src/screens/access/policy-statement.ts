import type { PolicyEdit } from './api.ts'

/** What makes the change, for a migration. Pure. */
export function policyStatement(
  table: string,
  { name, using = 'true', permissive = true, command = 'SELECT' }: PolicyEdit,
  exists: boolean,
): string {
  const target = table.split('.').map(quote).join('.')
  if (exists) return `alter policy ${quote(name)} on ${target} using (${using});`
  const kind = permissive ? '' : ' as restrictive'
  return `create policy ${quote(name)} on ${target}${kind} for ${command.toLowerCase()} using (${using});`
}

function quote(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}
