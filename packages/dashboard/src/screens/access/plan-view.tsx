import { useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { Loaded } from '../../ui/states.tsx'
import styles from './access.module.css'
import { type ExplainRequest, type Explanation, explain, type Plan } from './api.ts'
import { type PlanNode, readPlan } from './plan-nodes.ts'

interface Props {
  readonly request: ExplainRequest
  readonly explanation: Explanation
}

/** Shows the statement of a production request, and its plans with and without the policies. */
export function PlanView({ request, explanation: { statement, remains } }: Props) {
  const [plan, setPlan] = useState<'plan' | 'analyze'>('plan')
  const planned = useApi(
    ['access', 'plan', request, plan],
    (signal) => explain({ ...request, plan }, signal),
    {
      enabled: statement?.text !== undefined,
    },
  )
  if (statement?.text === undefined) {
    return <p>The request is refused before a statement is sent: {statement?.outcome.message}.</p>
  }
  return (
    <>
      <h3>Statement</h3>
      <Code label="Statement">{tidy(statement.text)}</Code>
      {(statement.values ?? []).length > 0 && (
        <ol className={styles.values} aria-label="Values">
          {statement.values?.map((value, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: parameters are identified by their positions.
            <li key={index}>
              <code>${index + 1}</code> = {value === null ? <em>null</em> : <code>{value}</code>}
            </li>
          ))}
        </ol>
      )}
      <p>
        The data API responds with {statement.outcome.status}
        {statement.outcome.message === undefined ? '' : `: ${statement.outcome.message}`}.
        {remains.length > 0 && ` Rolled back except for ${remains.join(', ')}.`}
      </p>
      <div className={styles.planHead}>
        <h3>Plan</h3>
        <Button size="small" isPending={planned.isFetching} onClick={() => setPlan('analyze')}>
          Run and measure
        </Button>
      </div>
      <Loaded query={planned}>
        {({ plans }) => (
          <div className={styles.plans}>
            <PlanTree title="With policies" plan={plans?.withPolicies} />
            <PlanTree title="Without policies" plan={plans?.withoutPolicies} />
          </div>
        )}
      </Loaded>
    </>
  )
}

function PlanTree({ title, plan }: { readonly title: string; readonly plan: Plan | undefined }) {
  const root = plan === undefined ? undefined : readPlan(plan.plan)
  return (
    <section aria-label={title}>
      <h4>{title}</h4>
      {plan?.error !== undefined && <p className={styles.fault}>{plan.error.message}</p>}
      {root !== undefined && (
        <ul className={styles.plan}>
          <Node node={root} />
        </ul>
      )}
    </section>
  )
}

function Node({ node }: { readonly node: PlanNode }) {
  return (
    <li>
      <strong>{node.title}</strong> <small>{node.figures}</small>
      {node.conditions.map((condition) => (
        <p key={condition} className={styles.condition}>
          <code>{condition}</code>
        </p>
      ))}
      {node.children.length > 0 && (
        <ul>
          {node.children.map((child, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the nodes of one plan keep their positions.
            <Node key={index} node={child} />
          ))}
        </ul>
      )}
    </li>
  )
}

/** Removes blank lines and the indentation of the source. */
function tidy(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .join('\n')
    .replace(/^ {4}/gm, '')
}
