import { isBasaltError } from '@basaltdb/client'
import { useId, useState } from 'react'
import { usePermissions } from '../../../api/administrator.ts'
import { useAction, useApi } from '../../../api/queries.ts'
import { AsCode } from '../../../ui/as-code.tsx'
import { Button } from '../../../ui/button.tsx'
import { Code } from '../../../ui/code.tsx'
import { CodeEditor } from '../../../ui/code-editor.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { download } from '../../../ui/download.ts'
import { TextField } from '../../../ui/field.tsx'
import { Failure, Spinner } from '../../../ui/states.tsx'
import { showToast } from '../../../ui/toasts.ts'
import { useDiscardConfirmation } from '../../../ui/use-discard-confirmation.tsx'
import { type ApplyResult, applyScript, planChange } from '../api.ts'
import type { PlanSource, ReviewRequest } from './review-context.ts'
import { WarningList } from './warning-list.tsx'

interface ReviewDialogProps {
  readonly request: ReviewRequest
  readonly onClose: () => void
}

/** Shows the editable SQL of a change, its effects, and the button that applies it. */
export function ReviewDialog({ request, onClose }: ReviewDialogProps) {
  const review = useId()
  const [source, setSource] = useState<PlanSource>(
    'sql' in request ? { sql: request.sql } : { change: request.change },
  )
  const [edited, setSql] = useState<string>()
  const [name, setName] = useState(request.title)
  const [typed, setTyped] = useState('')
  // One plan runs at a time, because a rehearsal canceled here still holds its locks on the server.
  const plan = useApi(['structure plan', review, source], () => planChange(source), { keepsPrevious: false })
  const apply = useAction(applyScript, {
    failure: 'view',
    invalidates: [['structure'], ['schema'], ['tables'], ['access'], ['advisors']],
    onDone(applied) {
      onClose()
      announce(applied)
      request.onApplied?.(applied)
    },
  })
  const planned = plan.data
  const mayWriteSql = usePermissions()('owner')
  const sql = edited ?? planned?.sql ?? sqlOf(plan.error)
  const isEdited = planned !== undefined && sql !== planned.sql
  const isConfirmed = request.confirmName === undefined || typed === request.confirmName
  const canApply =
    planned !== undefined && plan.error === null && !isEdited && isConfirmed && name.trim() !== ''
  const checkAgain = () => {
    if (edited !== undefined && edited !== planned?.sql) setSource({ sql: edited })
    else void plan.refetch()
  }
  const isBusy = plan.isFetching || apply.isPending
  const { close, confirmation } = useDiscardConfirmation(edited !== undefined, onClose)
  return (
    <Dialog
      title={request.title}
      isOpen
      size="wide"
      {...(apply.isPending ? {} : { onClose: close })}
      footer={
        <>
          <AsCode
            request={{ method: 'POST', path: '/api/admin/structure/apply', body: { sql, name } }}
            sql={sql}
            command="basalt migrate up"
          />
          <Button disabled={apply.isPending} onClick={onClose}>
            Cancel
          </Button>
          <Button isPending={isBusy} onClick={checkAgain}>
            Check again
          </Button>
          <Button
            variant={request.confirmName === undefined ? 'primary' : 'danger'}
            disabled={!canApply}
            isPending={isBusy}
            onClick={() => {
              if (planned === undefined) return
              const { version } = planned
              // The form describes the change of an administrator who may not send SQL.
              apply.run(mayWriteSql ? { sql: planned.sql, name, version } : { ...source, name, version })
            }}
          >
            Apply
          </Button>
        </>
      }
    >
      {plan.isFetching && <Spinner label="Testing the change in a transaction" />}
      {plan.error !== null && <Failure error={plan.error} />}
      {apply.error !== null && <Failure error={apply.error} />}
      {planned !== undefined && !isEdited && <WarningList plan={planned} />}
      {isEdited && <p role="status">The SQL was edited. Check it before you apply it.</p>}
      {sql !== undefined && (
        <>
          {mayWriteSql ? (
            <CodeEditor label="SQL of the change" language="sql" value={sql} onChange={setSql} />
          ) : (
            <Code label="SQL of the change">{sql}</Code>
          )}
          <TextField label="Migration name" value={name} onChange={setName} />
        </>
      )}
      {request.confirmName !== undefined && (
        <TextField
          label={`Type ${request.confirmName} to confirm`}
          value={typed}
          onChange={setTyped}
          isCode
        />
      )}
      {confirmation}
    </Dialog>
  )
}

/** Returns the SQL from an error, so that the user can correct it. */
function sqlOf(error: Error | null): string | undefined {
  const sql = isBasaltError(error) ? error.data?.sql : undefined
  return typeof sql === 'string' ? sql : undefined
}

function announce({ name, path, content }: ApplyResult): void {
  if (path === null) {
    showToast(`Applied and stored in the database as ${name}.`, 'done', {
      label: 'Download',
      run: () => download(name, 'application/sql', content),
    })
  } else showToast(`Applied and written to ${path}.`)
}
