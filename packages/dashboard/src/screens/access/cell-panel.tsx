import { useApi } from '../../api/queries.ts'
import { Code } from '../../ui/code.tsx'
import { KeyValue } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Loaded } from '../../ui/states.tsx'
import styles from './access.module.css'
import {
  type ExplainedPolicy,
  type ExplainedRow,
  type ExplainRequest,
  type Explanation,
  type Part,
  takeApart,
} from './api.ts'
import { Mark } from './mark.tsx'

/** Cell of the matrix: a policy and a row at one stage. */
export interface Cell {
  readonly row: ExplainedRow
  readonly policy: ExplainedPolicy
  readonly stage: number
}

interface CellPanelProps {
  readonly request: ExplainRequest
  readonly explanation: Explanation
  readonly cell: Cell
  readonly onClose: () => void
}

/** Shows the parts of a policy expression, evaluated for a row. */
export function CellPanel({ request, explanation, cell, onClose }: CellPanelProps) {
  const { row, policy, stage } = cell
  const body = {
    ...request,
    ...(row.id === undefined ? {} : { ids: [row.id] }),
    ...valuesOf(request, explanation.rows.indexOf(row)),
  }
  const parts = useApi(
    ['access', 'parts', body, policy.name, stage],
    (signal) => takeApart({ ...body, policy: policy.name, stage }, signal),
    { enabled: row.id !== undefined || request.action === 'insert', keepsPrevious: false },
  )
  const clause = explanation.stages[stage]?.clause
  const text = (clause === 'check' ? (policy.check ?? policy.using) : policy.using) ?? 'true'
  return (
    <SidePanel
      title={`Policy “${policy.name}” for ${row.id == null ? 'the new row' : `row ${row.id}`}`}
      onClose={onClose}
    >
      <Loaded query={parts}>
        {(part) => (
          <ul className={styles.parts} aria-label="Parts of the expression">
            <PartView part={part} />
          </ul>
        )}
      </Loaded>
      <h3>Expression</h3>
      <Code label="Expression">{text}</Code>
      <h3>Policy</h3>
      <KeyValue
        items={{
          For: policy.command.toLowerCase(),
          Kind: policy.permissive ? 'permissive' : 'restrictive',
          Roles: policy.roles.join(', '),
        }}
      />
      <h3>Row</h3>
      <KeyValue
        pairs={Object.entries(row.shown).map(
          ([name, value]) => [name, value === null ? <em key={name}>null</em> : value] as const,
        )}
      />
    </SidePanel>
  )
}

/** Returns the values of the row's own record, for an insert of several records. */
function valuesOf({ action, values }: ExplainRequest, index: number) {
  return action === 'insert' && Array.isArray(values) ? { values: values[index] } : {}
}

const joins = { and: 'all of', or: 'one of', not: 'not' } as const

function PartView({ part }: { readonly part: Part }) {
  return (
    <li>
      <Mark value={part.value} />{' '}
      {part.operator === undefined ? <code>{part.text}</code> : <strong>{joins[part.operator]}</strong>}
      {part.message !== undefined && (
        <p className={styles.fault}>
          {part.message} (SQLSTATE {part.sqlState})
        </p>
      )}
      {part.sides.some((side) => side.text !== side.expression) && (
        <p className={styles.sides}>
          {part.sides.map(({ expression, text, message }) => (
            <span key={expression}>
              <code>{expression}</code> is{' '}
              {message === undefined ? text === null ? <em>null</em> : <code>{text}</code> : message}
            </span>
          ))}
        </p>
      )}
      {part.terms.length > 0 && (
        <ul>
          {part.terms.map((term, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one expression keep their positions.
            <PartView key={index} part={term} />
          ))}
        </ul>
      )}
    </li>
  )
}
