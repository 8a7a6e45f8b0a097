import { useState } from 'react'
import { Empty } from '../../ui/states.tsx'
import styles from './access.module.css'
import type { ExplainedPolicy, ExplainedRow, ExplainRequest, Explanation } from './api.ts'
import { type Cell, CellPanel } from './cell-panel.tsx'
import { Mark } from './mark.tsx'

interface Props {
  readonly request: ExplainRequest
  readonly explanation: Explanation
}

/** Renders rows × policies, with one table for each check of PostgreSQL. */
export function Matrix({ request, explanation }: Props) {
  const [cell, setCell] = useState<Cell | undefined>()
  const { rows, stages, policies, table, isCut } = explanation
  if (rows.length === 0) return <Empty>No row matches.</Empty>
  if (stages.length === 0) {
    return (
      <Empty>
        Row-level security does not apply to <code>{table.collection}</code>: no policy is evaluated, and
        every row passes.
      </Empty>
    )
  }
  const unused = policies.filter((policy) => policy.stages.length === 0)
  return (
    <div className={styles.matrices}>
      <div>
        {stages.map((stage, index) => {
          const columns = policies.filter((policy) => policy.stages.some((each) => each.stage === index))
          return (
            <section key={stage.name} aria-label={`To ${stage.name}`}>
              {stages.length > 1 && (
                <h3 className={styles.stage}>
                  {index + 1}. To {stage.name}{' '}
                  <small>
                    {stage.command} {stage.clause === 'using' ? 'USING' : 'WITH CHECK'}, the row{' '}
                    {stage.row === 'before' ? 'before the change' : 'after the change'}
                  </small>
                </h3>
              )}
              <StageTable
                caption={`${stage.name}: result of each policy for each row`}
                {...{ rows, columns, selected: cell?.stage === index ? cell : undefined }}
                stage={index}
                isLast={index === stages.length - 1}
                onOpen={(row, policy) => setCell({ row, policy, stage: index })}
              />
            </section>
          )
        })}
        {isCut && <p>Some rows are not shown, because all rows together exceed 8 MB.</p>}
        {unused.length > 0 && (
          <p className={styles.unused}>
            Not evaluated here:{' '}
            {unused
              .map(({ name, command, isForCaller, roles }) =>
                isForCaller
                  ? `“${name}” (for ${command.toLowerCase()})`
                  : `“${name}” (for ${roles.join(', ')})`,
              )
              .join(', ')}
          </p>
        )}
      </div>
      {cell !== undefined && (
        <CellPanel
          key={`${cell.row.id} ${cell.policy.name} ${cell.stage}`}
          {...{ request, explanation, cell }}
          onClose={() => setCell(undefined)}
        />
      )}
    </div>
  )
}

interface StageTableProps {
  readonly caption: string
  readonly rows: readonly ExplainedRow[]
  readonly columns: readonly ExplainedPolicy[]
  readonly stage: number
  readonly isLast: boolean
  readonly selected: Cell | undefined
  readonly onOpen: (row: ExplainedRow, policy: ExplainedPolicy) => void
}

function StageTable({ caption, rows, columns, stage, isLast, selected, onOpen }: StageTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard.
    <section className={styles.scroller} tabIndex={0} aria-label={caption}>
      <table className={styles.matrix}>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Row</th>
            {columns.map(({ name, permissive }) => (
              <th key={name} scope="col">
                {name}
                <small>{permissive ? 'permissive: one must be true' : 'restrictive: must be true'}</small>
              </th>
            ))}
            <th scope="col">
              Policies
              <small>combined</small>
            </th>
            {isLast && (
              <th scope="col">
                Database
                <small>result</small>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={row.id ?? index}>
              <th scope="row">
                <RowName row={row} index={index} />
              </th>
              {columns.map((policy) => {
                const position = policy.stages.find((each) => each.stage === stage)?.place ?? 0
                const verdict = row.stages[stage]?.verdicts[position]
                return (
                  <td key={policy.name}>
                    <button
                      type="button"
                      className={styles.cell}
                      aria-pressed={selected?.row === row && selected.policy === policy}
                      aria-label={`${policy.name}, row ${row.id ?? index + 1}: ${verdict === undefined ? 'not evaluated' : String(verdict.value)}. Show why`}
                      title={verdict?.message}
                      onClick={() => onOpen(row, policy)}
                    >
                      <Mark value={verdict?.value} />
                    </button>
                  </td>
                )
              })}
              <td>
                {columns.some(({ permissive }) => permissive) ? (
                  <Mark value={row.stages[stage]?.outcome} label={outcomeLabel(row.stages[stage]?.outcome)} />
                ) : (
                  <Mark value={false} label="no permissive policy" />
                )}
              </td>
              {isLast && (
                <td>
                  <DatabaseAnswer row={row} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const outcomeLabel = (outcome: boolean | 'error' | undefined) =>
  outcome === undefined ? 'not evaluated' : outcome === 'error' ? 'fails' : outcome ? 'permit' : 'refuse'

function DatabaseAnswer({ row: { actual, answer, agrees } }: { readonly row: ExplainedRow }) {
  if (answer !== undefined) {
    const isDone = answer.status < 300
    return (
      <span title={answer.message}>
        <Mark
          value={isDone}
          label={`${answer.status}${answer.message === undefined ? '' : ` ${answer.message}`}`}
        />
      </span>
    )
  }
  if (actual === undefined) return <Mark value={undefined} label="no key" />
  return (
    <>
      <Mark value={actual} label={actual ? 'row shown' : 'row not shown'} />
      {agrees === false && ' (disagrees)'}
    </>
  )
}

/** Renders the key of a row, and the start of its first other values. */
function RowName({ row: { id, shown }, index }: { readonly row: ExplainedRow; readonly index: number }) {
  const values = Object.entries(shown)
    .filter(([, value]) => value !== null && value !== id)
    .slice(0, 3)
    .map(([name, value]) => `${name}: ${value}`)
  return (
    <>
      {id ?? `new row ${index + 1}`}
      <small className={styles.values}>{values.join(' · ')}</small>
    </>
  )
}
