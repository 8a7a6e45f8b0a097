import { useApi } from '../../api/queries.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { code } from '../../ui/fields.tsx'
import { InlineForm } from '../../ui/form-dialog.tsx'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Loaded } from '../../ui/states.tsx'
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
                ['This month', ([, label]) => label],
                ['Used', ([name, , format]) => format(known.metrics[name].used), 'end'],
                [
                  'Limit',
                  ([name, , format]) =>
                    known.metrics[name].limit === 0 ? 'none' : format(known.metrics[name].limit),
                  'end',
                ],
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
  return (
    <InlineForm
      action="Set plan"
      isPrimary={false}
      start={{ plan: limits.plan }}
      fields={() => ({
        plan: code('Plan', { hint: 'A plan from usage.plans in the configuration, or default.' }),
      })}
      isReady={({ plan }) => plan !== limits.plan}
      send={({ plan }) => setPlan({ app, plan })}
      invalidates={[['usage']]}
      done={(result) => `Plan set to ${result.plan}.`}
    />
  )
}
