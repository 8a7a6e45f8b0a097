import { useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { TextField } from '../../ui/field.tsx'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { Form } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Failure, Loaded } from '../../ui/states.tsx'
import { type AppLimits, type AppUsage, readLimits, setPlan } from './api.ts'

const metrics = [
  ['api_requests', 'Requests', formatNumber],
  ['storage_bytes', 'Storage', formatBytes],
  ['bandwidth_bytes', 'Bandwidth', formatBytes],
  ['function_invocations', 'Procedure calls', formatNumber],
] as const

/** Shows the plan of an app, and its usage in this month. */
export function AppPanel({ app, onClose }: { readonly app: AppUsage; readonly onClose: () => void }) {
  const limits = useApi(['usage', 'limits', app.tenantId], (signal) => readLimits(app.tenantId, signal))
  return (
    <SidePanel title={app.tenantName} onClose={onClose}>
      <Loaded query={limits}>
        {(known) => (
          <>
            <DataTable
              caption="Limits of this month"
              rows={metrics}
              rowKey={([name]) => name}
              columns={[
                { key: 'metric', title: 'This month', cell: ([, label]) => label },
                {
                  key: 'used',
                  title: 'Used',
                  align: 'end',
                  cell: ([name, , format]) => format(known.metrics[name].used),
                },
                {
                  key: 'limit',
                  title: 'Limit',
                  align: 'end',
                  cell: ([name, , format]) =>
                    known.metrics[name].limit === 0 ? 'none' : format(known.metrics[name].limit),
                },
              ]}
            />
            <PlanForm key={known.plan} app={app.tenantId} limits={known} />
          </>
        )}
      </Loaded>
    </SidePanel>
  )
}

function PlanForm({ app, limits }: { readonly app: string; readonly limits: AppLimits }) {
  const [plan, setText] = useState(limits.plan)
  const action = useAction(setPlan, {
    invalidates: [['usage']],
    done: (result) => `Plan set to ${result.plan}.`,
    failure: 'view',
  })
  return (
    <Form onSubmit={() => action.run({ app, plan })}>
      <TextField
        label="Plan"
        hint="A plan from usage.plans in the configuration, or default."
        value={plan}
        isCode
        onChange={setText}
      />
      {action.error !== null && <Failure error={action.error} />}
      <Button type="submit" disabled={plan === limits.plan} isPending={action.isPending}>
        Set plan
      </Button>
    </Form>
  )
}
