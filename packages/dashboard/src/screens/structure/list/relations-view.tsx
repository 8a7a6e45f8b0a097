import { useSearchParams } from 'wouter'
import { useApi, usePages } from '../../../api/queries.ts'
import { Button } from '../../../ui/button.tsx'
import { Select } from '../../../ui/field.tsx'
import { formatBytes, formatNumber } from '../../../ui/format.ts'
import { FilterField, Toolbar } from '../../../ui/layout.tsx'
import { List } from '../../../ui/list.tsx'
import { newTableAddress, tableAddress } from '../addresses.ts'
import { listRelations, readObjects } from '../api.ts'
import { useForm } from '../forms/form.tsx'
import { createView } from '../forms/sql.tsx'
import { RelationBadges } from './badges.tsx'

export function RelationsView() {
  const [search, setSearch] = useSearchParams()
  const form = useForm()
  const q = search.get('q') ?? ''
  const schema = search.get('schema') ?? ''
  const objects = useApi(['structure', 'objects'], readObjects)
  const relations = usePages(['structure', 'relations', q, schema], async (after, signal) => {
    const { items, next } = await listRelations({ q, schema }, parseCursor(after), signal)
    return { items, next: next === null ? undefined : JSON.stringify([next.schema, next.name]) }
  })
  const set = (part: Record<string, string>) =>
    setSearch(
      Object.entries({ q, schema, ...part }).filter(([, value]) => value !== ''),
      { replace: true },
    )
  return (
    <>
      <Toolbar label="Tables and views">
        <FilterField label="Search by name" value={q} onChange={(text) => set({ q: text })} />
        <Select
          label="Schema"
          hidesLabel
          value={schema}
          choices={[
            { value: '', label: 'All schemas' },
            ...(objects.data?.schemas ?? []).map(({ name }) => ({ value: name, label: name })),
          ]}
          onChange={(next) => set({ schema: next })}
        />
        <Button needs="owner" onClick={() => form.open(createView)}>
          Create a view
        </Button>
      </Toolbar>
      <List
        caption="Tables and views"
        of={relations}
        rowKey={(relation) => JSON.stringify([relation.schema, relation.name])}
        href={tableAddress}
        isFiltered={q !== '' || schema !== ''}
        empty="There are no tables yet. Each table is served by the API immediately, under its policies."
        first={['Create the first table', newTableAddress]}
        columns={[
          ['Name', ({ schema: of, name }) => (of === 'public' ? name : `${of}.${name}`)],
          ['Kind', ({ kind }) => kind, 'minor'],
          ['State', (relation) => <RelationBadges relation={relation} />],
          [
            'Rows',
            ({ estimatedRows }) => (estimatedRows === null ? '' : `≈ ${formatNumber(estimatedRows)}`),
            'end',
            'minor',
          ],
          ['Size', ({ bytes }) => (bytes === 0 ? '' : formatBytes(bytes)), 'end', 'minor'],
        ]}
      />
      {form.dialog}
    </>
  )
}

function parseCursor(after: string | undefined): { schema: string; name: string } | undefined {
  if (after === undefined) return undefined
  // The cursor is from the previous page.
  const [schema, name] = JSON.parse(after) as [string, string]
  return { schema, name }
}
