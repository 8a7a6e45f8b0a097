import { useApi } from '../../../api/queries.ts'
import { Button } from '../../../ui/button.tsx'
import { DataTable } from '../../../ui/data-table.tsx'
import { Section } from '../../../ui/layout.tsx'
import { Loaded } from '../../../ui/states.tsx'
import { ActionsTitle } from '../actions-title.tsx'
import { readObjects } from '../api.ts'
import { changeEnum, createEnum } from '../forms/enum.ts'
import { useForm } from '../forms/form.tsx'
import { useReview } from '../review/review-context.ts'
import styles from '../structure.module.css'

export function TypesView() {
  const objects = useApi(['structure', 'objects'], readObjects)
  const review = useReview()
  const form = useForm()
  return (
    <Loaded query={objects}>
      {({ enums, domains, compositeTypes, sequences, extensions }) => (
        <>
          <Section
            title="Enums"
            actions={<Button onClick={() => form.open(createEnum)}>Create an enum</Button>}
          >
            <DataTable
              caption="Enums"
              rows={enums}
              rowKey={nameOf}
              empty="No enums."
              columns={[
                { key: 'name', title: 'Name', cell: nameOf },
                { key: 'values', title: 'Values', cell: ({ values }) => values.join(', ') },
                { key: 'used', title: 'Used by', isMinor: true, cell: ({ usedBy }) => usedBy.join(', ') },
                {
                  key: 'actions',
                  title: <ActionsTitle />,
                  align: 'end',
                  cell: (type) => (
                    <span className={styles.rowActions}>
                      <Button
                        size="small"
                        aria-label={`Change ${nameOf(type)}`}
                        onClick={() => form.open(changeEnum(type))}
                      >
                        Change
                      </Button>
                      <Button
                        size="small"
                        aria-label={`Drop ${nameOf(type)}`}
                        onClick={() =>
                          review({
                            title: `Drop ${type.name}`,
                            confirmName: type.name,
                            change: { kind: 'drop_type', schema: type.schema, name: type.name },
                          })
                        }
                      >
                        Drop
                      </Button>
                    </span>
                  ),
                },
              ]}
            />
          </Section>
          <Section title="Domains">
            <DataTable
              caption="Domains"
              rows={domains}
              rowKey={nameOf}
              empty="No domains."
              columns={[
                { key: 'name', title: 'Name', cell: nameOf },
                { key: 'type', title: 'Type', cell: ({ type }) => <code>{type}</code> },
                { key: 'checks', title: 'Checks', cell: ({ checks }) => <code>{checks.join(' ')}</code> },
              ]}
            />
          </Section>
          <Section title="Composite types">
            <DataTable
              caption="Composite types"
              rows={compositeTypes}
              rowKey={nameOf}
              empty="No composite types."
              columns={[
                { key: 'name', title: 'Name', cell: nameOf },
                {
                  key: 'attributes',
                  title: 'Attributes',
                  cell: ({ attributes }) => (
                    <code>{attributes.map(({ name, type }) => `${name} ${type}`).join(', ')}</code>
                  ),
                },
              ]}
            />
          </Section>
          <Section title="Sequences">
            <DataTable
              caption="Sequences"
              rows={sequences}
              rowKey={nameOf}
              empty="No sequences."
              columns={[
                { key: 'name', title: 'Name', cell: nameOf },
                { key: 'last', title: 'Last value', align: 'end', cell: ({ lastValue }) => lastValue ?? '' },
                { key: 'owner', title: 'Owned by', cell: ({ ownedBy }) => ownedBy ?? '' },
              ]}
            />
          </Section>
          <Section title="Extensions">
            <DataTable
              caption="Extensions"
              rows={extensions}
              rowKey={({ name }) => name}
              empty="No extensions."
              columns={[
                { key: 'name', title: 'Name', cell: ({ name }) => name },
                { key: 'version', title: 'Version', cell: ({ version }) => version },
                { key: 'schema', title: 'Schema', cell: ({ schema }) => schema },
              ]}
            />
          </Section>
          {form.dialog}
        </>
      )}
    </Loaded>
  )
}

function nameOf({ schema, name }: { readonly schema: string; readonly name: string }): string {
  return schema === 'public' ? name : `${schema}.${name}`
}
