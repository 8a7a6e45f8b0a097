import { checkbox, choice, code, type Field, type Fields, group, textArea } from '../../ui/fields.tsx'
import { InlineForm } from '../../ui/form-dialog.tsx'
import { isJson } from '../../ui/json.ts'
import { userOf } from '../users/user-picker.tsx'
import { invokeFunction, type LoadedFunction } from './api.ts'
import { parametersOf } from './describe.ts'
import { exampleOf } from './example-input.ts'
import { RunResult } from './run-result.tsx'

const callers = [
  { value: 'admin', label: 'Administrator: policies do not apply' },
  { value: 'user', label: 'A user' },
  { value: 'anonymous', label: 'No token' },
] as const

interface Draft {
  readonly caller: (typeof callers)[number]['value']
  readonly user: string
  readonly params: Readonly<Record<string, string>>
  readonly input: string
  readonly isCommitted: boolean
  readonly reason: string
}

/** Calls a route as a chosen caller. Its writes are rolled back, unless the administrator commits them with a reason. */
export function RunForm({ of: each }: { readonly of: LoadedFunction }) {
  const { name, access, method, input } = each
  const parameters = parametersOf(each)
  const start: Draft = {
    caller: 'admin',
    user: '',
    params: Object.fromEntries(parameters.map((parameter) => [parameter, ''])),
    input: input === undefined ? '' : JSON.stringify(exampleOf(input), undefined, 2),
    isCommitted: false,
    reason: '',
  }
  // Others would be refused before the function runs.
  const admitted = callers.filter(
    ({ value }) => value === 'admin' || access === 'anonymous' || (access === 'user' && value === 'user'),
  )
  const isQuery = method === 'GET' || method === 'DELETE'
  const fields: Fields<Draft> = ({ caller, isCommitted }) => ({
    caller: choice('Run as', admitted),
    user: caller === 'user' && userOf('User', 'Address, phone or id'),
    params:
      parameters.length > 0 &&
      group(() =>
        Object.fromEntries(
          parameters.map((parameter) => [parameter, code(`:${parameter}`, { required: true })]),
        ),
      ),
    input: json('Input', {
      hint: isQuery ? 'JSON object with the query parameters.' : 'JSON. Leave empty for none.',
    }),
    isCommitted: checkbox('Commit what the function writes', {
      hint: 'Otherwise the transaction is rolled back. Requests to other services are not.',
    }),
    reason:
      isCommitted &&
      textArea('Reason', { required: true, rows: 2, maxLength: 500, hint: 'Stored in the audit log.' }),
  })
  return (
    <InlineForm
      action="Run"
      needs="owner"
      start={start}
      fields={fields}
      send={async (draft) => {
        const invocation = await invokeFunction({
          name,
          params: draft.params,
          ...(draft.input.trim() !== '' && { input: JSON.parse(draft.input) as unknown }),
          ...(draft.caller !== 'admin' && { as: draft.caller === 'user' ? draft.user : draft.caller }),
          ...(draft.isCommitted && { commit: true, reason: draft.reason }),
        })
        return { invocation, endedAt: new Date().toISOString() }
      }}
      invalidates={[
        ['functions', 'errors'],
        ['functions', 'activity'],
      ]}
    >
      {(result) => result !== undefined && <RunResult {...result} />}
    </InlineForm>
  )
}

/** Returns the input of any JSON value. */
function json(label: string, props: { readonly hint: string }): Field<string> {
  const input: Field<string> = (value, onChange, error) =>
    textArea(label, { isCode: true, rows: 6, ...props })(
      value,
      onChange,
      isReady(value) ? error : 'Expected a JSON value.',
    )
  const isReady = (value: string) => value.trim() === '' || isJson(value)
  return Object.assign(input, { isReady })
}
