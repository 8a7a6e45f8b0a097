import { countOf, formatNumber, formatShortDuration } from '../../ui/format.ts'
import { Badge } from '../../ui/layout.tsx'
import { Empty } from '../../ui/states.tsx'
import type { PlanResponse } from './api.ts'
import { type PlanNode, readPlan } from './plan.ts'
import styles from './sql.module.css'

/** Part of the whole from which a node is marked as hot. */
const hotShare = 0.3

/** Renders a plan as a tree. Expensive nodes are marked by a word and a bar. */
export function PlanView({ explained }: { readonly explained: PlanResponse }) {
  const root = readPlan(explained.plan)
  if (root === undefined) return <Empty>The statement has no plan.</Empty>
  return (
    <div className={styles.plan}>
      <p className={styles.muted}>
        {root.actualRows === undefined
          ? 'Estimated without running. Shares are of the cost.'
          : 'Analyzed: run and rolled back. Shares are of the time.'}
      </p>
      <ul>
        <Node node={root} />
      </ul>
    </div>
  )
}

function Node({ node }: { readonly node: PlanNode }) {
  const { title, details, estimatedRows, actualRows, ownMs, share, cost, warnings, children } = node
  const percent = Math.round(share * 100)
  return (
    <li>
      <div className={styles.node} data-hot={share >= hotShare || undefined}>
        <p>
          <strong>{title}</strong> {share >= hotShare && <Badge tone="danger">hot</Badge>}
        </p>
        <p className={styles.muted}>
          {actualRows === undefined
            ? `${countOf(Math.round(estimatedRows), 'row')} estimated`
            : `${countOf(actualRows, 'row')}, ${formatNumber(Math.round(estimatedRows))} estimated`}
          {ownMs === undefined ? ` · cost ${formatNumber(cost)}` : ` · ${formatShortDuration(ownMs)} itself`}{' '}
          · {percent} %
        </p>
        <meter className={styles.share} min={0} max={100} value={percent} aria-label={`Share of ${title}`} />
        {details.length > 0 && (
          <dl className={styles.details}>
            {details.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <code>{value}</code>
                </dd>
              </div>
            ))}
          </dl>
        )}
        {warnings.map((warning) => (
          <p key={warning} className={styles.warning}>
            <strong>Warning: </strong>
            {warning}
          </p>
        ))}
      </div>
      {children.length > 0 && (
        <ul>
          {children.map((child, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a plan does not change.
            <Node key={index} node={child} />
          ))}
        </ul>
      )}
    </li>
  )
}
