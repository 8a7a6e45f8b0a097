import { useSearchParams } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { withParameters } from '../../shell/search-parameters.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { PageHeader } from '../../ui/layout.tsx'
import { EmptyState, Failure, Revealed, Spinner } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import styles from './access.module.css'
import { AccessForm } from './access-form.tsx'
import { type AccessQuery, formatAccessQuery, parseAccessQuery, toRequest } from './access-query.ts'
import { type ExplainRequest, type Explanation, explain } from './api.ts'
import { clientCall } from './client-call.ts'
import { Identity } from './identity.tsx'
import { Matrix } from './matrix.tsx'
import { PlanView } from './plan-view.tsx'
import { PolicyTrial } from './policy-trial.tsx'
import { SaveCase } from './save-case.tsx'
import { Summary } from './summary.tsx'

/** Shows why a caller can or cannot see a row. */
export function AccessScreen() {
  const [search, setSearch] = useSearchParams()
  const query = parseAccessQuery(search)
  const request = toRequest(query)
  const isComplete = request !== undefined && typeof request !== 'string'
  const answer = useApi(
    ['access', 'explain', request],
    (signal) => {
      if (!isComplete) throw new Error('the request is incomplete')
      return explain(request, signal)
    },
    { enabled: isComplete, keepsPrevious: false },
  )
  const submit = (next: AccessQuery) => setSearch(formatAccessQuery(next))
  const key = formatAccessQuery(query).toString()
  return (
    <>
      <PageHeader
        title="Why can’t they see it?"
        actions={
          isComplete && (
            <AsCode
              request={{ method: 'POST', path: '/api/admin/access/explain', body: request }}
              sql={answer.data?.psql}
              client={clientCall(request)}
            />
          )
        }
      >
        Runs a request as a user or a program. Shows the checks before the policies, the result of each policy
        for each row, and the result of the database. All changes are rolled back.
      </PageHeader>
      {/* Another query in the URL creates another form. */}
      <AccessForm key={key} query={query} isPending={answer.isFetching} onSubmit={submit} />
      {typeof request === 'string' && <Failure error={request} />}
      {request === undefined && (
        <EmptyState first={['Select a row in Tables', '/tables', 'rows.view']}>
          Select a caller and a table. “Who can see it?” of a row in Tables fills in this form.
        </EmptyState>
      )}
      {answer.isFetching && answer.data === undefined && <Spinner label="Evaluating the policies" />}
      {answer.error !== null && <Failure error={answer.error} onRetry={() => void answer.refetch()} />}
      {isComplete && answer.data !== undefined && (
        <Revealed>
          <ExplanationView request={request} explanation={answer.data} />
        </Revealed>
      )}
    </>
  )
}

function ExplanationView({
  request,
  explanation,
}: {
  readonly request: ExplainRequest
  readonly explanation: Explanation
}) {
  const [search, setSearch] = useSearchParams()
  const tab = search.get('tab') ?? 'rows'
  return (
    <div className={styles.answer}>
      <Summary explanation={explanation} />
      <Tabs
        label="Explanation"
        value={tab}
        onChange={(next) => setSearch((before) => withParameters(before, { tab: next }), { replace: true })}
        tabs={[
          { value: 'rows', label: 'Rows and policies', content: <Matrix {...{ request, explanation }} /> },
          {
            value: 'statement',
            label: 'Statement and plan',
            content: <PlanView {...{ request, explanation }} />,
          },
          { value: 'identity', label: 'Session context', content: <Identity explanation={explanation} /> },
          {
            value: 'trial',
            label: 'Try a policy',
            content: <PolicyTrial {...{ request, explanation }} />,
            needs: 'change',
          },
          {
            value: 'save',
            label: 'Save as a test',
            content: <SaveCase {...{ request, explanation }} />,
            needs: 'change',
          },
        ]}
      />
    </div>
  )
}
