import { useSearchParams } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { Badge, FilterField, Notice, Toolbar } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { listSettings, type Setting } from './api.ts'

/** Shows the configuration in use. It is set in the file or the environment and read at startup. */
export function ConfigurationView() {
  const settings = useApi(['configuration'], listSettings)
  const [search, setSearch] = useSearchParams()
  const filter = search.get('filter') ?? ''
  const isChangedOnly = search.has('changed')
  const change = (text: string, changedOnly: boolean) =>
    setSearch(
      { ...(text === '' ? {} : { filter: text }), ...(changedOnly ? { changed: '' } : {}) },
      { replace: true },
    )
  const isShown = ({ key, env, description, isDefault }: Setting) =>
    !(isChangedOnly && isDefault) &&
    `${key} ${env} ${description}`.toLowerCase().includes(filter.toLowerCase())
  return (
    <>
      <Toolbar label="Configuration">
        <FilterField
          label="Key or description"
          value={filter}
          onChange={(text) => change(text, isChangedOnly)}
        />
        <Checkbox
          label="Only changed values"
          checked={isChangedOnly}
          onChange={(checked) => change(filter, checked)}
        />
        <AsCode request={{ method: 'GET', path: '/api/admin/configuration' }} command="basalt config" />
      </Toolbar>
      <Notice>
        Set in <code>basalt.toml</code>, the environment (<code>server.port</code> is{' '}
        <code>BASALT_SERVER_PORT</code>) or flags. Changes take effect after a restart.
      </Notice>
      <Loaded query={settings}>
        {(items) => (
          <DataTable
            caption="Configuration"
            rows={items.filter(isShown)}
            rowKey={({ key }) => key}
            empty="No keys match."
            columns={[
              { key: 'key', title: 'Key', cell: ({ key, env }) => <code title={env}>{key}</code> },
              { key: 'value', title: 'Value', cell: showValue },
              { key: 'description', title: 'Description', isMinor: true, cell: (row) => row.description },
            ]}
          />
        )}
      </Loaded>
    </>
  )
}

function showValue({ value, isSecret, isDefault }: Setting) {
  return (
    <>
      {isSecret ? isDefault ? 'Not set' : 'Set (hidden)' : <code>{JSON.stringify(value)}</code>}{' '}
      {!isDefault && <Badge tone="accent">Changed</Badge>}
    </>
  )
}
