import type { CSSProperties } from 'react'
import { countOf, formatNumber, formatShortDuration } from '../../ui/format.ts'
import { Badge } from '../../ui/layout.tsx'
import { Empty } from '../../ui/states.tsx'
import type { PlanResponse } from './api.ts'
import { type PlanNode, readPlan } from './plan.ts'
import styles from './sql.module.css'

/** Renders a plan as a tree. The colour of a node is its share of the whole, and the most expensive node is named. */
export function PlanView({ explained }: { readonly explained: PlanResponse }) {
  const root = readPlan(explained.plan)
  if (root === undefined) return <Empty>The statement has no plan.</Empty>
  const costliest = findCostliest(root)
  return (
    <div className={styles.plan}>
      <p>
        Most expensive: <strong>{costliest.title}</strong>, {percentOf(costliest)} % of the{' '}
        {root.actualRows === undefined ? 'cost' : 'time'}.
      </p>
      <p className={styles.muted}>
        {root.actualRows === undefined
          ? 'Estimated without running. Shares are of the cost.'
          : 'Analyzed: run and rolled back. Shares are of the time.'}
      </p>
      <ul>
        <Node node={root} costliest={costliest} />
      </ul>
    </div>
  )
}

const percentOf = ({ share }: PlanNode) => Math.round(share * 100)

/** Returns the node with the largest share of a plan. */
function findCostliest(node: PlanNode): PlanNode {
  return node.children
    .map(findCostliest)
    .reduce((most, each) => (each.share > most.share ? each : most), node)
}

function Node({ node, costliest }: { readonly node: PlanNode; readonly costliest: PlanNode }) {
  const { title, details, estimatedRows, actualRows, ownMs, cost, warnings, children } = node
  const percent = percentOf(node)
  const style: CSSProperties & Record<'--share', string> = { '--share': `${percent}%` }
  return (
    <li>
      <div className={styles.node} style={style}>
        <p>
          <strong>{title}</strong> {node === costliest && <Badge tone="danger">Most expensive</Badge>}
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
            <Node key={index} node={child} costliest={costliest} />
          ))}
        </ul>
      )}
    </li>
  )
}
