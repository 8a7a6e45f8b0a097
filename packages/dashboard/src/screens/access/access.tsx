import { useSearchParams } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { withParameters } from '../../shell/search-parameters.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { PageHeader } from '../../ui/layout.tsx'
import { Empty, Failure, Spinner } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import styles from './access.module.css'
import { Answer } from './answer.tsx'
import { type ExplainRequest, type Explanation, explain } from './api.ts'
import { clientCall } from './client-call.ts'
import { Identity } from './identity.tsx'
import { Matrix } from './matrix.tsx'
import { PlanView } from './plan-view.tsx'
import { PolicyTrial } from './policy-trial.tsx'
import { type Question, readQuestion, toRequest, writeQuestion } from './question.ts'
import { QuestionForm } from './question-form.tsx'
import { SaveCase } from './save-case.tsx'

/** Why a caller sees a row, or does not. */
export function AccessScreen() {
  const [search, setSearch] = useSearchParams()
  const question = readQuestion(search)
  const request = toRequest(question)
  const isComplete = request !== undefined && typeof request !== 'string'
  const answer = useApi(
    ['access', 'explain', request],
    (signal) => {
      if (!isComplete) throw new Error('nothing is asked')
      return explain(request, signal)
    },
    { enabled: isComplete, keepsPrevious: false },
  )
  const ask = (next: Question) => setSearch(writeQuestion(next))
  const key = writeQuestion(question).toString()
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
        Looks through the eyes of a user or a program: what stands before the policies, what each policy says
        of each row, and what the database answers. Everything is undone.
      </PageHeader>
      {/* Another question by the address makes another form. */}
      <QuestionForm key={key} question={question} isPending={answer.isFetching} onAsk={ask} />
      {typeof request === 'string' && <Failure error={request} />}
      {request === undefined && (
        <Empty>Choose who looks and at which table. A link from a row in Tables fills this in.</Empty>
      )}
      {answer.isFetching && answer.data === undefined && <Spinner label="Asking the policies" />}
      {answer.error !== null && <Failure error={answer.error} onRetry={() => void answer.refetch()} />}
      {isComplete && answer.data !== undefined && <Explained request={request} explanation={answer.data} />}
    </>
  )
}

function Explained({
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
      <Answer explanation={explanation} />
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
          { value: 'identity', label: 'What policies see', content: <Identity explanation={explanation} /> },
          { value: 'trial', label: 'Try a policy', content: <PolicyTrial {...{ request, explanation }} /> },
          { value: 'save', label: 'Save as a test', content: <SaveCase {...{ request, explanation }} /> },
        ]}
      />
    </div>
  )
}
