import { Link, useLocation, useSearchParams } from 'wouter'
import { useApi } from '../../../api/queries.ts'
import { rowsLink, searchLink } from '../../../links.ts'
import { AsCode } from '../../../ui/as-code.tsx'
import { Button } from '../../../ui/button.tsx'
import { Code } from '../../../ui/code.tsx'
import { DataTable } from '../../../ui/data-table.tsx'
import { formatBytes, formatNumber } from '../../../ui/format.ts'
import { KeyValue, PageHeader } from '../../../ui/layout.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { Loaded } from '../../../ui/states.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { diagramAddress, tableAddress } from '../addresses.ts'
import { type Relation, readRelation } from '../api.ts'
import { useForm } from '../forms/form.tsx'
import { rename } from '../forms/rename.ts'
import { RelationBadges } from '../list/badges.tsx'
import { useReview } from '../review/review-context.ts'
import { ColumnsTab } from './columns-tab.tsx'
import { ConstraintsTab } from './constraints-tab.tsx'
import { IndexesTab } from './indexes-tab.tsx'
import { PoliciesTab } from './policies-tab.tsx'
import { TriggersTab } from './triggers-tab.tsx'

interface TablePageProps {
  readonly schema: string
  readonly name: string
}

export function TablePage({ schema, name }: TablePageProps) {
  const relation = useApi(['structure', 'relation', schema, name], (signal) =>
    readRelation(schema, name, signal),
  )
  return <Loaded query={relation}>{(loaded) => <LoadedTable relation={loaded} />}</Loaded>
}

function LoadedTable({ relation }: { readonly relation: Relation }) {
  const [search, setSearch] = useSearchParams()
  const { partitionOf, partitions } = relation
  const isTable = relation.kind === 'table' || relation.kind === 'partitioned table'
  const columns = { value: 'columns', label: 'Columns', content: <ColumnsTab relation={relation} /> }
  const indexes = { value: 'indexes', label: 'Indexes', content: <IndexesTab relation={relation} /> }
  const definition = {
    value: 'definition',
    label: 'Definition',
    content: <DefinitionTab relation={relation} />,
  }
  const ofTables = [
    { value: 'constraints', label: 'Constraints', content: <ConstraintsTab relation={relation} /> },
    { value: 'policies', label: 'Policies', content: <PoliciesTab relation={relation} /> },
    { value: 'triggers', label: 'Triggers', content: <TriggersTab relation={relation} /> },
  ]
  return (
    <>
      <PageHeader
        title={`${relation.schema}.${relation.name}`}
        actions={<TableActions relation={relation} />}
      >
        {relation.kind}
        {partitionOf !== null && (
          <>
            {' '}
            · partition of <Link href={tableAddress(partitionOf)}>{partitionOf.name}</Link>
          </>
        )}
        {relation.comment === null ? '' : `: ${relation.comment}`} <RelationBadges relation={relation} />
      </PageHeader>
      <Tabs
        label="Table sections"
        value={search.get('tab') ?? 'columns'}
        onChange={(tab) => setSearch(tab === 'columns' ? {} : { tab }, { replace: true })}
        tabs={[
          columns,
          ...(partitions.length > 0
            ? [{ value: 'partitions', label: 'Partitions', content: <PartitionsTab {...{ partitions }} /> }]
            : []),
          ...(isTable || relation.kind === 'materialized view' ? [indexes] : []),
          ...(isTable ? ofTables : []),
          definition,
        ]}
      />
    </>
  )
}

function TableActions({ relation }: { readonly relation: Relation }) {
  const { schema, name, kind, dependents, constraints } = relation
  const [, navigate] = useLocation()
  const form = useForm()
  const review = useReview()
  const drop = () =>
    review({
      title: `Drop ${name}`,
      confirmName: name,
      change: {
        kind: 'drop_relation',
        schema,
        name,
        relationKind: kind.replace('partitioned ', ''),
        // The review lists all dependents that are dropped.
        ...(dependents.length > 0 ? { cascade: true } : {}),
      },
      onApplied: () => navigate('/structure'),
    })
  // A developer drops tables without dependents, and an owner everything.
  const needs = /^(partitioned )?table$/.test(kind) && dependents.length === 0 ? 'change' : 'owner'
  const renameTable = rename(name, { kind: 'rename_table', schema, name }, (to) =>
    navigate(tableAddress({ schema, name: to }), { replace: true }),
  )
  const collection = schema === 'public' ? name : `${schema}.${name}`
  const address = `/api/admin/structure/relations/${schema}/${name}`
  return (
    <>
      <Link href={rowsLink(collection)}>Rows</Link>
      <Link href={searchLink(collection)}>Search</Link>
      {constraints.length > 0 && <Link href={diagramAddress(relation)}>Diagram</Link>}
      <AsCode request={{ method: 'GET', path: address }} sql={relation.definition} command="basalt db dump" />
      {kind === 'table' && (
        <Button needs="change" onClick={() => form.open(renameTable)}>
          Rename
        </Button>
      )}
      <Menu label="More" items={[{ label: `Drop this ${kind}`, onSelect: drop, isDangerous: true, needs }]} />
      {form.dialog}
    </>
  )
}

function PartitionsTab({ partitions }: Pick<Relation, 'partitions'>) {
  return (
    <DataTable
      caption="Partitions"
      rows={partitions}
      rowKey={({ schema, name }) => JSON.stringify([schema, name])}
      href={tableAddress}
      columns={[
        ['Name', ({ name }) => name],
        ['Values', ({ bound }) => <code>{bound}</code>],
        [
          'Rows',
          ({ estimatedRows }) => (estimatedRows === null ? '' : `≈ ${formatNumber(estimatedRows)}`),
          'end',
          'minor',
        ],
        ['Size', ({ bytes }) => formatBytes(bytes), 'end'],
      ]}
    />
  )
}

function DefinitionTab({ relation }: { readonly relation: Relation }) {
  return (
    <>
      <KeyValue
        items={{
          Owner: relation.owner,
          Rows: relation.estimatedRows === null ? 'not counted yet' : `≈ ${relation.estimatedRows}`,
          Size: `${formatBytes(relation.tableBytes)}, indexes ${formatBytes(relation.indexBytes)}`,
          Privileges:
            relation.grants.map(({ role, privileges }) => `${role}: ${privileges.join(', ')}`).join('; ') ||
            'none',
          Dependents: relation.dependents.map(({ kind, name }) => `${kind} ${name}`).join(', ') || 'nothing',
        }}
      />
      <Code label="Definition as SQL">{relation.definition}</Code>
    </>
  )
}
