import { usePermissions } from '../../api/administrator.ts'
import { useAction, useApi } from '../../api/queries.ts'
import { type Body, get, put } from '../../api/request.ts'
import { Switch } from '../../ui/field.tsx'

/** Renders the switch for reads by the dashboard in logs and figures, which an owner sets for all nodes. */
export function DashboardReads() {
  const may = usePermissions()
  const key = ['dashboard-reads']
  const setting = useApi(key, (signal) => get<'dashboardReads.get'>('admin/dashboard-reads', {}, { signal }))
  const change = useAction(
    (body: Body<'dashboardReads.set'>) => put<'dashboardReads.set'>('admin/dashboard-reads', body),
    {
      invalidates: [key],
      done: ({ isLogged }) => `Reads by the dashboard are ${isLogged ? '' : 'not '}logged.`,
    },
  )
  return (
    <Switch
      label="Log the dashboard"
      title="Reads by the dashboard. Its writes and sign-ins are always logged."
      checked={setting.data?.isLogged ?? false}
      disabled={!may('owner') || setting.data === undefined || change.isPending}
      onChange={(isLogged) => change.run({ isLogged })}
    />
  )
}
