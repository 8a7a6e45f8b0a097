import { useState } from 'react'
import { usePermissions } from '../../api/administrator.ts'
import { useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Time } from '../../ui/time.tsx'
import { Filters } from '../activity/filters.tsx'
import { RequestLink } from '../activity/links.tsx'
import { queryPath } from '../activity/query-path.ts'
import { useFilters } from '../activity/use-filters.ts'
import { type FunctionError, listErrors } from './api.ts'
import { ErrorItem } from './error-item.tsx'
import { useFunctionNames } from './use-function-names.ts'

export function FunctionErrorsScreen() {
  const filters = useFilters(['function'])
  const name = filters.settled.function
  const [shown, setShown] = useState<FunctionError>()
  const mayRead = usePermissions()('bodies.read')
  const names = useFunctionNames()
  const errors = useApi(['functions', 'errors', name], (signal) => listErrors(name, 50, signal), {
    refetchIntervalMs: 10_000,
  })
  return (
    <>
      <PageHeader
        title="Errors of functions"
        asCode={{
          request: { method: 'GET', path: queryPath('/api/admin/functions/errors', { function: name }) },
          command: `basalt functions logs${name === undefined ? '' : ` --function ${name}`}`,
        }}
      >
        The latest errors of functions on all nodes, of the last seven days.
      </PageHeader>
      <Filters
        label="Errors"
        filters={filters}
        fields={[{ name: 'function', label: 'Function', choices: names }]}
      />
      <List
        caption="Errors of functions"
        of={errors}
        rowKey={({ time, requestId, function: of }) => `${time} ${requestId} ${of}`}
        isFiltered={filters.isFiltered}
        empty="No errors. An error that a function throws is listed here with its line in the source."
        columns={[
          ['Time', ({ time }) => <Time value={time} />],
          ['Function', (error) => error.function],
          [
            'Message',
            (error) =>
              mayRead ? (
                <Button variant="plain" size="small" onClick={() => setShown(error)}>
                  {error.message === '' ? '(no message)' : error.message}
                </Button>
              ) : (
                '–'
              ),
            'cut',
          ],
          [
            'Position',
            ({ frames: [frame] }) => frame && <code>{`${frame.file}:${frame.line}`}</code>,
            'minor',
          ],
          ['Request', ({ requestId }) => <RequestLink id={requestId} />, 'minor'],
        ]}
      />
      {shown !== undefined && (
        <SidePanel title={`Error of ${shown.function}`} size="wide" onClose={() => setShown(undefined)}>
          <ErrorItem error={shown} />
        </SidePanel>
      )}
    </>
  )
}
