import { countOf } from '../../../ui/format.ts'
import { Badge } from '../../../ui/layout.tsx'
import type { RelationSummary } from '../api.ts'
import styles from '../structure.module.css'

/** Renders the most important properties of a table as badges. */
export function RelationBadges({ relation }: { readonly relation: RelationSummary }) {
  const { authenticated, anonymous } = relation.callers
  const isTable = relation.kind === 'table' || relation.kind === 'partitioned table'
  const isExposed = relation.isServed && authenticated.length + anonymous.length > 0
  const isInvoker = relation.options.some((option) => /^security_invoker=(true|on|1|yes)$/.test(option))
  return (
    <span className={styles.badges}>
      {isTable && !relation.isRlsEnabled && (
        <Badge tone={isExposed ? 'danger' : 'warning'}>no row-level security</Badge>
      )}
      {isTable && relation.isRlsEnabled && relation.policyCount === 0 && (
        <Badge tone="accent">no policies: administrators only</Badge>
      )}
      {isTable && relation.isRlsEnabled && relation.policyCount > 0 && (
        <Badge tone="ok">{countOf(relation.policyCount, 'policy', 'policies')}</Badge>
      )}
      {isTable && !relation.hasPrimaryKey && <Badge tone="warning">no primary key</Badge>}
      {relation.kind === 'view' && isExposed && !isInvoker && (
        <Badge tone="danger">policies do not apply: security_invoker is off</Badge>
      )}
      {isExposed && authenticated.length > 0 && <Badge>signed-in users: {authenticated.join(', ')}</Badge>}
      {isExposed && anonymous.length > 0 && (
        <Badge tone="accent">without a token: {anonymous.join(', ')}</Badge>
      )}
      {!relation.isServed && <Badge>not served</Badge>}
    </span>
  )
}
