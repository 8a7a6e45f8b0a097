import { useState } from 'react'
import { Link } from 'wouter'
import { usePermissions } from '../../api/administrator.ts'
import { useAction } from '../../api/queries.ts'
import { sqlLink } from '../../links.ts'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { download } from '../../ui/download.ts'
import { choice, text, valueIn } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { Toolbar } from '../../ui/layout.tsx'
import { Time } from '../../ui/time.tsx'
import { type Advice, dismissAdvice, restoreAdvice } from './api.ts'

const again = { invalidates: [['advisors']] }

export function AdviceItem({ advice }: { readonly advice: Advice }) {
  const { id, object, detail, statement, command, dismissal } = advice
  const [isDismissing, setDismissing] = useState(false)
  const may = usePermissions()
  const restore = useAction(restoreAdvice, again)
  return (
    <li>
      <strong>{object}</strong>
      {detail !== null && <span>{detail}</span>}
      {statement !== null && <Code label={`statement for ${object}`}>{statement}</Code>}
      {command !== null && <Code label={`command for ${object}`}>{command}</Code>}
      {dismissal !== null && (
        <span>
          Dismissed by {dismissal.by} <Time value={dismissal.at} />
          {dismissal.until !== null && (
            <>
              {' '}
              until <Time value={dismissal.until} />
            </>
          )}
          {dismissal.reason !== null && `: ${dismissal.reason}`}
        </span>
      )}
      <Toolbar label={`Advice about ${object}`}>
        {statement !== null && (
          <>
            {may('sql.read') && <Link href={sqlLink(statement)}>Open in SQL</Link>}
            <Button size="small" onClick={() => saveMigration(advice.rule, statement)}>
              Save as migration
            </Button>
          </>
        )}
        {dismissal === null ? (
          <Button size="small" needs="change" onClick={() => setDismissing(true)}>
            Dismiss…
          </Button>
        ) : (
          <Button size="small" needs="change" isPending={restore.isPending} onClick={() => restore.run(id)}>
            Restore
          </Button>
        )}
      </Toolbar>
      {isDismissing && <DismissDialog advice={advice} onClose={() => setDismissing(false)} />}
    </li>
  )
}

const periods = [
  { value: '', label: 'Permanently' },
  { value: '7', label: 'For a week' },
  { value: '30', label: 'For 30 days' },
] as const

function DismissDialog({ advice, onClose }: { readonly advice: Advice; readonly onClose: () => void }) {
  return (
    <ActionForm
      title={`Dismiss: ${advice.title}`}
      action="Dismiss"
      size="small"
      lead={<p>{advice.object}</p>}
      start={{ reason: '', days: valueIn(periods, '') }}
      fields={() => ({ reason: text('Reason', { maxLength: 500 }), days: choice('Duration', periods) })}
      send={({ reason, days }) =>
        dismissAdvice({
          id: advice.id,
          ...(reason === '' ? {} : { reason }),
          ...(days === '' ? {} : { until: new Date(Date.now() + Number(days) * 86_400_000).toISOString() }),
        })
      }
      {...again}
      onClose={onClose}
    />
  )
}

/** Downloads a statement as a file for the folder `migrations` of a project. */
function saveMigration(rule: string, statement: string): void {
  const time = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
  download(`${time}_${rule}.sql`, 'application/sql', `${statement}\n`)
}
