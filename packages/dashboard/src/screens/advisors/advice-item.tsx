import { useState } from 'react'
import { Link } from 'wouter'
import { useAction } from '../../api/queries.ts'
import { sqlLink } from '../../links.ts'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { download } from '../../ui/download.ts'
import { Select, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Toolbar } from '../../ui/layout.tsx'
import { Time } from '../../ui/time.tsx'
import { type Advice, dismissAdvice, restoreAdvice } from './api.ts'

const again = { invalidates: [['advisors']] }

export function AdviceItem({ advice }: { readonly advice: Advice }) {
  const { id, object, detail, statement, command, dismissal } = advice
  const [isDismissing, setDismissing] = useState(false)
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
            <Link href={sqlLink(statement)}>Open in SQL</Link>
            <Button size="small" onClick={() => saveMigration(advice.rule, statement)}>
              Save as migration
            </Button>
          </>
        )}
        {dismissal === null ? (
          <Button size="small" onClick={() => setDismissing(true)}>
            Dismiss…
          </Button>
        ) : (
          <Button size="small" isPending={restore.isPending} onClick={() => restore.run(id)}>
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
  const [reason, setReason] = useState('')
  const [days, setDays] = useState<(typeof periods)[number]['value']>('')
  const action = useAction(dismissAdvice, { ...again, failure: 'view', onDone: onClose })
  return (
    <FormDialog
      title={`Dismiss: ${advice.title}`}
      action="Dismiss"
      size="small"
      error={action.error}
      isPending={action.isPending}
      onSubmit={() =>
        action.run({
          id: advice.id,
          ...(reason === '' ? {} : { reason }),
          ...(days === '' ? {} : { until: new Date(Date.now() + Number(days) * 86_400_000).toISOString() }),
        })
      }
      onClose={onClose}
    >
      <p>{advice.object}</p>
      <TextField label="Reason" value={reason} onChange={setReason} maxLength={500} />
      <Select label="Duration" value={days} onChange={setDays} choices={periods} />
    </FormDialog>
  )
}

/** Downloads a statement as a file for the folder `migrations` of a project. */
function saveMigration(rule: string, statement: string): void {
  const time = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
  download(`${time}_${rule}.sql`, 'application/sql', `${statement}\n`)
}
