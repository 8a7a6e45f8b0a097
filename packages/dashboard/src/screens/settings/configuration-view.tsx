import { useSearchParams } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { Badge, FilterField, Notice, Toolbar } from '../../ui/layout.tsx'
import { List, rowsOf } from '../../ui/list.tsx'
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
      <List
        caption="Configuration"
        of={rowsOf(settings, (items) => items.filter(isShown))}
        rowKey={({ key }) => key}
        isFiltered
        columns={[
          ['Key', ({ key, env }) => <code title={env}>{key}</code>],
          ['Value', showValue],
          ['Description', (row) => row.description, 'minor'],
        ]}
      />
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
